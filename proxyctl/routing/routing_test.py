"""A query of the files, and where it has to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxyctl.routing.query import ClientQuery
from proxyctl.rows.row import Where


@dataclass(frozen=True)
class RoutingTest:
    """One query of one session, and its expected route."""

    query: str
    """The query as the file writes it."""
    request: ClientQuery
    """The query and its session, as routing takes them."""
    expect: Mapping[str, Any]
    """Only the keys that the file sets, with hostgroups as numbers. A value of None expects that
    there is none (`rewritten: null`: no rule rewrites the query)."""
    where: Where
    """The place of the test in the files."""
    name: str | None = None
    """The name of the test, if it has one."""

    @property
    def title(self) -> str:
        """Its name, else its query."""
        return self.name or self.query
