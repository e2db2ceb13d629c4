"""Digest texts, made from logged queries: an event has the query and the number of its digest."""

from __future__ import annotations

from typing import NamedTuple

from proxyctl.catalog import parse_version
from proxyctl.errors import ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.stats.events.event import NO_DIGEST, QueryEvent
from proxyctl.stats.events.group import refuse_more_groups
from proxyctl.stats.read import read_digest_variables

_WITHOUT_ERRNO = parse_version("2.7.1")
"""The release whose digests a log without errno has. Source: run."""


class DigestText(NamedTuple):
    """A digest text, and whether it is the one that ProxySQL counts the query under."""

    text: str
    is_proven: bool
    """Whether the text has the logged digest."""


class DigestTexts:
    """Makes the text of each digest once, from the first query that has the digest."""

    def __init__(self, options: DigestOptions | None = None) -> None:
        """Make texts under the digest variables of an instance.

        `options`: None for the defaults of the release that wrote the log.
        """
        self.longest = (options or DigestOptions()).max_digest_length
        self._digester = Digester(options)
        self._older = self._digester
        if options is None:
            self._older = Digester(DigestOptions(version=_WITHOUT_ERRNO))
        self._texts: dict[str, DigestText] = {}

    def of(self, event: QueryEvent) -> DigestText:
        """Return the text of a query's digest.

        Changes: self. Raises: ProxyctlError for more digests than fit into the memory.
        """
        held = self._texts.get(event.digest)
        if held is not None and held.is_proven:
            return held
        if event.digest == NO_DIGEST:
            return self._texts.setdefault(NO_DIGEST, DigestText("", is_proven=True))
        digester = self._older if event.errno is None else self._digester
        made = digester.digest(event.query)
        text = made.text[: self.longest].decode("utf-8", "surrogateescape")
        found = DigestText(text, made.hexadecimal == event.digest)
        if held is None:
            refuse_more_groups(self._texts)
        if held is None or found.is_proven:
            self._texts[event.digest] = held = found
        return held

    def made(self, digest: str) -> DigestText:
        """Return the text of a digest that `of` has seen."""
        return self._texts[digest]


def options_of(client: AdminClient) -> DigestOptions:
    """Return the digest variables of an instance at RUNTIME.

    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    try:
        return DigestOptions.from_variables(read_digest_variables(client), client.version)
    except ValueError as error:
        raise ProxyctlError(str(error)) from error
