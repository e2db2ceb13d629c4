"""How large stats_mysql_query_digest is, found out without naming it."""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.digest.options import PREFIX
from proxyctl.instance.client import AdminClient

BYTES_PER_S = 50_000_000
"""Of query_digest_memory, copied by one statement. Source: ProxySQL 2.7.1, 978,000 digests of
340 MB, six to seven seconds on two cores."""


LARGE_S = 5.0
"""From this expected time on somebody has to be warned: the admin interface is held that long."""


@dataclass(frozen=True)
class DigestSize:
    """What the digests take in ProxySQL's memory. Units: bytes."""

    memory: int

    @property
    def expected_s(self) -> float:
        """About how long a statement that names the table takes, in seconds."""
        return self.memory / BYTES_PER_S

    @property
    def is_large(self) -> bool:
        """Whether to warn before the table is named."""
        return self.expected_s >= LARGE_S


def read_digest_size(client: AdminClient) -> DigestSize:
    """Return the size; 0 where this ProxySQL does not tell. Raises: InstanceError."""
    rows = client.query(
        "SELECT Variable_Value FROM stats_memory_metrics"
        " WHERE Variable_Name = 'query_digest_memory'",
    )
    return DigestSize(client.number(rows[0][0]) if rows else 0)


def read_digest_variables(client: AdminClient) -> dict[str, str]:
    """Return the variables of mysql-query_digests at RUNTIME, by full name."""
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        f" WHERE variable_name LIKE '{PREFIX.rstrip('_')}%'",
    )
    return {str(name): value or "" for name, value in rows}
