"""A query of the files, and where it has to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxyctl.routing.query import ClientQuery
from proxyctl.rows.row import Where


@dataclass(frozen=True)
class RoutingTest:
    """One query of one session, and its expected route.

    Shape: `expect` has only the keys that the file sets, with hostgroups as numbers. A value of
    None expects that there is none (`rewritten: null`: no rule rewrites the query).
    """

    query: str
    request: ClientQuery
    expect: Mapping[str, Any]
    where: Where
    name: str | None = None

    @property
    def title(self) -> str:
        """Its name, else its query."""
        return self.name or self.query
