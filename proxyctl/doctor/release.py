"""The release of ProxySQL itself: holes that a newer one closes, and one that is not known yet."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import SECURITY_FIXES, beyond_catalogue
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding

_WHERE = "ProxySQL"


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the security fixes that this release lacks, or that it has more than we know."""
    version = facts.version
    missing = [
        (version.numbered(release), holes)
        for release, holes in SECURITY_FIXES
        if not version.has(release)
    ]
    if missing and not facts.is_sandbox:
        holes = "; ".join(f"{text}, fixed in {release}" for release, text in missing)
        yield Finding(
            "security-fixes-missing",
            _WHERE,
            f"{version} has known security holes: {holes}",
            f"upgrade to {missing[-1][0]} or newer",
        )
    if reason := beyond_catalogue(version):
        yield Finding(
            "release-unknown",
            _WHERE,
            f"{reason}: columns and variables that proxyctl does not know are left alone",
            "upgrade proxyctl",
        )
