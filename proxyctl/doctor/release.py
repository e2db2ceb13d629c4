"""The release of ProxySQL itself: holes that a newer one closes, and one that is not known yet."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import NEWEST_KNOWN, SECURITY_FIXES
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding

_WHERE = "ProxySQL"


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the security fixes that this release lacks, or that it is newer than what we know."""
    missing = [(release, holes) for release, holes in SECURITY_FIXES if facts.version < release]
    if missing and not facts.is_sandbox:
        holes = "; ".join(f"{text}, fixed in {release}" for release, text in missing)
        yield Finding(
            "security-fixes-missing",
            _WHERE,
            f"{facts.version} has known holes: {holes}",
            f"upgrade to {missing[-1][0]} or newer",
        )
    if facts.version > NEWEST_KNOWN:
        yield Finding(
            "release-unknown",
            _WHERE,
            f"{facts.version} is newer than {NEWEST_KNOWN}, the newest release that this proxyctl"
            " knows: columns and variables that it does not know are left alone",
            "look for a newer proxyctl",
        )
