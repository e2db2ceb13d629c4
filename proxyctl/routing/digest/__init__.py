"""The digest of a query: the text, and its number, under which ProxySQL counts the query.

Rules with match_digest or digest read nothing else of a query. A digest depends on variables,
`DigestOptions`, and on many habits of ProxySQL. The texts are byte for byte those of 2.7.1 and
3.0.3, which tests prove on real servers; before 2.6.4 some queries had other digests.

    >>> digest("SELECT name FROM users WHERE id IN (1, 2, 3, 4, 5) -- by id").text
    b'SELECT name FROM users WHERE id IN (?,?,?,...)'

With mysql-query_digests=false ProxySQL makes no digest at all; the caller must check that.
"""

from __future__ import annotations

from functools import lru_cache

from proxyctl.routing.digest.digester import Digest, Digester, digest_number
from proxyctl.routing.digest.options import DigestOptions

__all__ = ["Digest", "DigestOptions", "Digester", "digest", "digest_number"]


def digest(query: bytes | str, options: DigestOptions | None = None) -> Digest:
    """Return the digest of one query; for many queries make a `Digester` once.

    Text is encoded as UTF-8; surrogate escapes stand for other bytes.
    """
    return _digester(options).digest(query)


@lru_cache(maxsize=8)
def _digester(options: DigestOptions | None) -> Digester:
    return Digester(options)
