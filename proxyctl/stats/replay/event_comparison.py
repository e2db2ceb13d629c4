"""Compares what ProxySQL does with a logged query under the rules before and after.

Most queries need only their digest: the verdict on a digest holds for every text if no condition
leaves it open. Other queries are routed by their text, which decides match_pattern and hints. The
log has no address and port of ProxySQL, and no draw of a flagOUT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.routing.digest import Digest
from proxyctl.routing.open_questions import Assumptions, every_outcome
from proxyctl.routing.router import Router
from proxyctl.routing.special import is_set
from proxyctl.stats.events.event import EXECUTE, NO_DIGEST, QueryEvent
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import (
    MOST_WAYS,
    TOO_MANY,
    Comparison,
    QueryTreatment,
    ReplayVerdict,
    outcome_of,
    verdict_of,
)

OTHER_TEXT = (
    "the logged text does not have the logged digest: the client may have sent a different text"
)
_REWRITTEN = ("rewritten",)
_MOST_KNOWN = 20_000
"""The most verdicts on digests, and on texts, to remember."""
_LONGEST_KNOWN = 2_000
"""The longest text to remember. Units: characters."""
_ASKS_TEXT: Final = None
"""The verdict on a digest whose queries may have different verdicts."""

_Sender = tuple[str, str, str]
"""username, schemaname and client_address, as far as rules ask for them."""


class EventComparison:
    """Compares the routes of logged queries under the rules of two sides."""

    def __init__(self, sides: BeforeAfter, recorded: Mapping[str, str]) -> None:
        """Compile both sides; see `Comparison`."""
        self.comparison = Comparison(sides, recorded)
        self._asks_clients = any(
            rule.client_addr is not None
            for router in self.comparison.routers
            for rule in router.rules
        )
        self._digests: dict[tuple[str, bool, _Sender], ReplayVerdict | None] = {}
        self._texts: dict[tuple[str, bool, _Sender], ReplayVerdict] = {}
        self._verdicts: dict[ReplayVerdict, ReplayVerdict] = {}

    def client_of(self, event: QueryEvent) -> str:
        """Return the address of the client; '' if no rule asks for it."""
        return event.client_address if self._asks_clients else ""

    def digest_text(self, event: QueryEvent) -> str:
        """Return the digest text of a query, as stats_mysql_query_digest shows it."""
        text = self._digest(event).text[: self.comparison.options.max_digest_length]
        return text.decode("utf-8", "surrogateescape")

    def verdict(self, event: QueryEvent) -> ReplayVerdict:
        """Return what changes for a query. Equal verdicts are the same object."""
        is_prepared = event.event == EXECUTE
        caller = (event.username, event.schemaname, self.client_of(event))
        key = (event.digest, is_prepared, caller)
        try:
            verdict = self._digests[key]
        except KeyError:
            verdict = self._digests[key] = self._of_digest(event)
            if len(self._digests) > _MOST_KNOWN:
                self._digests.clear()
        # A comment may have hints, which a digest does not show.
        if verdict is not _ASKS_TEXT and "/*" not in event.query:
            return verdict
        by_text = (event.query, is_prepared, caller)
        verdict = self._texts.get(by_text)
        if verdict is None:
            verdict = self._same(self._of_text(event))
            if len(self._texts) == _MOST_KNOWN:
                self._texts.clear()
            if len(event.query) <= _LONGEST_KNOWN:
                self._texts[by_text] = verdict
        return verdict

    def _same(self, verdict: ReplayVerdict) -> ReplayVerdict:
        return self._verdicts.setdefault(verdict, verdict)

    def _digest(self, event: QueryEvent) -> Digest:
        return self.comparison.digester.digest(event.query)

    def _of_digest(self, event: QueryEvent) -> ReplayVerdict | None:
        """Return the verdict on all queries of a digest; _ASKS_TEXT if their texts decide."""
        if self.comparison.makes_other_digests:
            return _ASKS_TEXT
        digest = self._digest(event)
        if digest.hexadecimal != event.digest or is_set(digest.text):
            return _ASKS_TEXT
        seen = SeenDigest(
            event.hostgroup,
            event.schemaname,
            event.username,
            self.client_of(event),
            event.digest,
            self.digest_text(event),
            *(0,) * 6,
        )
        verdict = self.comparison.verdict(seen)
        is_decided = (
            not (verdict.is_open or verdict.notes)
            and len(verdict.before) == len(verdict.after) == 1
            and not any(map(_depends_on_text, (*verdict.before, *verdict.after)))
        )
        return self._same(verdict) if is_decided else _ASKS_TEXT

    def _of_text(self, event: QueryEvent) -> ReplayVerdict:
        digest = self._digest(event)
        notes = () if event.digest in (digest.hexadecimal, NO_DIGEST) else (OTHER_TEXT,)
        request = event.request()
        if not self.comparison.makes_other_digests:
            request = replace(request, digest=digest)  # else each side makes its own
        before, after = self.comparison.routers

        def outcome_under(router: Router, assumed: Assumptions) -> QueryTreatment:
            route, rewriting = router.evaluate_digest(request, assumed)
            return outcome_of(route, rewriting, route.special)

        def both(assumed: Assumptions) -> tuple[QueryTreatment, QueryTreatment]:
            outcome = outcome_under(before, assumed)
            return outcome, outcome if after is before else outcome_under(after, assumed)

        outcomes = every_outcome(both, limit=MOST_WAYS)
        if outcomes is None:
            return ReplayVerdict(notes=(*notes, TOO_MANY), is_unknown=True)
        return _without_texts(verdict_of(*outcomes, notes))


def _depends_on_text(outcome: QueryTreatment) -> bool:
    """Return whether a query of the same digest may be treated otherwise.

    An EXECUTE is not rewritten, and ProxySQL recognises its own statements by every blank.
    """
    is_own = outcome.answer is not None and not outcome.answer[0]
    return bool(outcome.rewriting) or is_own


def _without_texts(verdict: ReplayVerdict) -> ReplayVerdict:
    """Return the verdict without what differs by query: rewritten texts and the hint min_gtid."""
    before, after = (
        tuple(dict.fromkeys(map(_without_text, outcomes)))
        for outcomes in (verdict.before, verdict.after)
    )
    return replace(verdict, before=before, after=after)


def _without_text(outcome: QueryTreatment) -> QueryTreatment:
    settings = tuple(pair for pair in outcome.settings if pair[0] != "min_gtid")
    return outcome._replace(settings=settings, rewriting=_REWRITTEN if outcome.rewriting else ())
