"""What a row sends to a reader, as findings and in words."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import Sent, observations
from proxyctl.lint.traffic_readers import called
from proxyctl.routing.probes import Kind

_SHOWN = 4


def found_of_kind(subject: Subject, kind: Kind) -> Iterator[tuple[Finding, Sent]]:
    """Yield the rows that send queries of a kind to a reader, with what they send."""
    for (culprit, of_kind), sent in observations(subject).sent.items():
        if of_kind is kind:
            message = sent_text(subject, sent)
            yield Finding(culprit.table, culprit.key, message, culprit.column), sent


def sent_text(subject: Subject, sent: Sent) -> str:
    """Return what a row sends to a reader, in words."""
    text = f"sends `{shown(sent.query)}`{sent.session} to {called(subject, sent.hostgroup)}"
    others = sent.whats[1:]
    if not others:
        return text
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return f"{text}; also {', '.join(others[:_SHOWN])}{more}"


def shown(query: str) -> str:
    """Return a query on one line."""
    return query.replace("\n", r"\n")
