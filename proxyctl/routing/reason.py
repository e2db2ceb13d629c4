"""Why a rule does not match a query."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """The first criterion that fails, in the order of ProxySQL."""

    FLAG_IN = "flagIN is not where the query stands"
    USERNAME = "another username"
    SCHEMANAME = "another schemaname"
    CLIENT_ADDR = "another client_addr"
    PROXY_ADDR = "another proxy_addr"
    PROXY_PORT = "another proxy_port"
    DIGEST = "another digest"
    UNKNOWN_DIGEST = "digest cannot be told: digests are off"
    MATCH_DIGEST = "match_digest does not match the digest text"
    NOT_MATCH_DIGEST = "match_digest matches the digest text, and the rule is negated"
    MATCH_PATTERN = "match_pattern does not match the query"
    NOT_MATCH_PATTERN = "match_pattern matches the query, and the rule is negated"
    UNKNOWN_QUERY = "match_pattern cannot be told: the query is not known, only its digest"
    NOT_REACHED = "an earlier rule with apply ended the evaluation"
