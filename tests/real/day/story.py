"""The story of a day: chapters with what is done, and what log, metrics and clients have to say."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from tests.real.day.clients import Samples, Scraper, Traffic
from tests.real.watched_pods import PATIENCE_S, Watcher
from tests.support.waiting import until

Sample = tuple[tuple[str, ...], float | None]
"""A metric, and its value; None if it must be absent."""


@dataclass
class Chapter:
    """A part of the day. Units: moments as time.monotonic()."""

    title: str
    began: float
    said: int
    """How many lines the logs had before."""
    scraped: int
    """How many scrapes there were before; then, how many have been looked at."""
    recovered: float = 0.0
    """When the clients were well again; 0 before that."""
    seen: list[str] = field(default_factory=list)
    """The metrics that were waited for."""


@dataclass
class Day:
    """A day in progress. Units: `length_s` in seconds."""

    length_s: float
    chapters: int
    watcher: Watcher
    scraper: Scraper
    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    """The clients, by the address of their pod."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    """The table: one row for each chapter that has ended."""
    _began: float = field(default_factory=time.monotonic)
    _now: Chapter | None = None

    @contextmanager
    def chapter(
        self,
        title: str,
        says: Mapping[str | None, Sequence[str]],
        *,
        harmed: Collection[str] = (),
        stays: Sequence[Sample] = (),
    ) -> Iterator[None]:
        """Do something, wait until the clients are well, and rest until it is time to go on.

        `says`: the events in the log of each instance, None for those of no instance; any other
        line is an error. `harmed`: the addresses whose clients may meet errors during the block, or
        until `recovers`. `stays`: what every scrape has.
        """
        scraped = len(self.scraper.scrapes)
        began = Chapter(title, time.monotonic(), len(self.watcher.lines()), scraped)
        self._now = began
        yield
        done = time.monotonic()
        self.recovers()
        self._rest()
        assert self._events() == {name: [*events] for name, events in says.items()}, title
        self._check_clients(began, harmed)
        if stays:
            scrapes = [*filter(None, self.scraper.scrapes[scraped:])]
            assert scrapes
            assert all(_has(scrape, stays) for scrape in scrapes), (title, scrapes)
            began.seen += [f"always {text}" for text in _texts(stays)]
        self._note(began, done, says)

    def recovers(self) -> None:
        """Wait until all clients are well. After the first call none may meet errors."""
        now = time.monotonic()
        for address, clients in self.traffic.items():
            until(
                partial(clients.is_well_since, now),
                most_s=PATIENCE_S,
                what=f"the clients of {address} meet errors: {clients.seconds[-5:]}",
            )
        assert self._now is not None
        self._now.recovered = self._now.recovered or time.monotonic()

    def hears(self, names: Iterable[str | None], *events: str) -> None:
        """Wait until the log says this of each in this chapter."""

        def is_said(name: str | None) -> bool:
            said = self._events().get(name, [])
            return any(said[at : at + len(events)] == [*events] for at in range(len(said)))

        for name in names:
            until(partial(is_said, name), most_s=PATIENCE_S, what=f"{name}: no {events} in the log")

    def _events(self) -> dict[str | None, list[str]]:
        """Return what the logs say in this chapter."""
        assert self._now is not None
        found: dict[str | None, list[str]] = {}
        for line in self.watcher.lines()[self._now.said :]:
            found.setdefault(line["name"], []).append(line["event"])
        # A pod that starts fails to answer in more than one way: each is a line.
        return {name: [event for event, _ in groupby(events)] for name, events in found.items()}

    def sees(self, *samples: Sample) -> None:
        """Wait until a scrape has these samples, not before the scrape of the last call."""
        chapter = self._now
        assert chapter is not None

        def is_there() -> bool:
            while chapter.scraped < len(self.scraper.scrapes):
                if _has(self.scraper.scrapes[chapter.scraped], samples):
                    return True
                chapter.scraped += 1
            return False

        until(is_there, most_s=PATIENCE_S, what=f"{chapter.title}: {samples} was not scraped")
        chapter.seen += _texts(samples)

    def table(self) -> str:
        """Return the chapters that have ended as a table."""
        titles = ("at", "what happened", "after", "the log says", "metrics show", "errors")
        rows = [titles, *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(titles) - 1)]
        # The last column needs no blanks.
        padded = [[*map(str.ljust, row, widths), row[-1]] for row in rows]
        return "\n".join("  ".join(row) for row in padded)

    def _rest(self) -> None:
        share = (len(self.rows) + 1) / self.chapters
        time.sleep(max(self._began + share * self.length_s - time.monotonic(), 0))

    def _check_clients(self, began: Chapter, harmed: Collection[str]) -> None:
        for address, clients in self.traffic.items():
            since = began.recovered if address in harmed else began.began
            met = clients.errors(since, time.monotonic())
            assert met == 0, (began.title, address, clients.seconds[-20:])

    def _note(self, began: Chapter, done: float, says: Mapping[str | None, Sequence[str]]) -> None:
        at, ended = began.began - self._began, time.monotonic()
        errors = {
            name: clients.errors(began.began, ended) for name, clients in self.traffic.items()
        }
        names_by_events: dict[str, list[str]] = {}
        for name, events in says.items():
            names_by_events.setdefault(", ".join(events), []).append(name or "the watch")
        log = "; ".join(
            f"{'each pod' if {*names} == {*self.traffic} else ', '.join(names)}: {events}"
            for events, names in names_by_events.items()
        )
        self.rows.append(
            (
                f"{at // 60:02.0f}:{at % 60:02.0f}",
                began.title,
                f"{done - began.began:.1f} s",
                log or "nothing",
                ", ".join(began.seen),
                ", ".join(f"{name}: {count:.0f}" for name, count in errors.items() if count) or "0",
            )
        )


def _has(scrape: Samples, samples: Sequence[Sample]) -> bool:
    return all(scrape.get(key) == value for key, value in samples)


def _texts(samples: Sequence[Sample]) -> list[str]:
    """Return samples as texts, those of several pods as one."""
    texts = Counter(map(_text, samples))
    return [f"{text} ({count} pods)" if count > 1 else text for text, count in texts.items()]


def _text(sample: Sample) -> str:
    (name, *labels), value = sample
    labels = labels[1:] if name.startswith("instance_") else labels
    labelled = f"{name}{{{','.join(labels)}}}" if labels else name
    return f"{labelled} {'absent' if value is None else f'{value:g}'}"
