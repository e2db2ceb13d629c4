"""Tables and variables of other tiers of ProxySQL: known by name, so that a message can say whose.

Source: the macros around them in ProxySQL_Admin_Tables_Definitions.h and MySQL_Thread.cpp, after
3.0.11; release notes of 3.1.11 and 3.1.12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TIERS: Mapping[tuple[int, int], str] = {(3, 1): "innovative", (4, 0): "AI"}
"""By their first two numbers. Releases with the same third number have the same source."""

_INNOVATIVE, _AI = ("3.1", "innovative"), ("4.0", "AI")

_NAMES: Mapping[str, tuple[str, str]] = {
    "mysql-caching_sha2_password_(auto_generate_rsa_keys|private_key_path|public_key_path)": (
        "3.1.11",
        "innovative",
    ),
    "mysql-server_version_by_interface": ("3.1.12", "innovative"),
    "(mysql|pgsql)-ffto_(enabled|max_buffer_size)": ("3.1.6", "innovative"),
    "tsdb-.*": _INNOVATIVE,
    "mysql-aws_locality_awareness": _AI,
    "(mcp|genai)-.*": _AI,
    "(mcp|genai|mysqlx|duckdb)_.*|proxysql_plugin_.*": _AI,
}
"""Patterns of whole names, the release that has them, and its tier."""


def tier_text(name: str) -> str | None:
    """Return that a table or a variable belongs to another tier; None for any other name."""
    for pattern, (release, tier) in _NAMES.items():
        if re.fullmatch(pattern, name):
            return f"it belongs to ProxySQL {release} ({tier} tier)"
    return None
