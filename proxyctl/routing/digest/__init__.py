"""The digest of a query: the text, and the number of that text, under which ProxySQL counts it.

Rules with match_digest or digest look at nothing else of a query. What a digest is depends on
variables, `DigestOptions`, and on many habits of ProxySQL. The texts here are byte for byte those
of 2.7.1 and of 3.0.3, which the tests prove on the real ones; before 2.6.4 some queries had others.

    >>> digest("SELECT name FROM users WHERE id IN (1, 2, 3, 4, 5) -- by id").text
    b'SELECT name FROM users WHERE id IN (?,?,?,...)'

With mysql-query_digests=false ProxySQL makes no digest at all; that is for the caller to know.
"""

from __future__ import annotations

from functools import lru_cache

from proxyctl.routing.digest.digester import Digest, Digester, digest_number
from proxyctl.routing.digest.options import DigestOptions

__all__ = ["Digest", "DigestOptions", "Digester", "digest", "digest_number"]


def digest(query: bytes | str, options: DigestOptions | None = None) -> Digest:
    """Return the digest of one query; for many queries make a `Digester` once.

    Text is taken as UTF-8, with surrogate escapes for bytes that are not.
    """
    return _digester(options).digest(query)


@lru_cache(maxsize=8)
def _digester(options: DigestOptions | None) -> Digester:
    return Digester(options)
