"""Examine one instance, or every instance of the files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from proxyctl.config.files import ConfigFiles
from proxyctl.doctor import layers, release, servers, settings
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Examination, ExaminedFleet
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.lint.finding import Severity

SUBJECTS = (
    servers.shunned_for_good,
    servers.monitor,
    servers.hostgroups,
    settings.encryption,
    settings.certificate,
    settings.backend_certificates,
    layers.layers,
    layers.cluster,
    settings.server_version,
    settings.memory,
    release.release,
    release.known_defects,
)
"""The order of findings within a severity: findings that stop traffic come first."""


def examine(facts: Facts, ignored: Collection[str] = ()) -> Examination:
    """Return the findings; findings with an ignored code are only counted."""
    findings = [finding for subject in SUBJECTS for finding in subject(facts)]
    kept = [finding for finding in findings if finding.code not in ignored]
    kept.sort(key=lambda finding: list(Severity).index(finding.severity))
    return Examination(
        facts.name,
        facts.address,
        facts.version_text,
        tuple(kept),
        ignored=len(findings) - len(kept),
        digest_bytes=facts.digest_bytes,
    )


def examine_fleet(
    targets: Sequence[Target],
    look: Callable[[AdminClient, ConfigFiles], Examination],
    *,
    workers: int,
    done: Callable[[int], None],
) -> ExaminedFleet:
    """Return the findings for every instance.

    `look` examines one instance with its files; `done` receives the number of finished instances.
    """

    def work(target: Target) -> Examination:
        with target.connect() as client:
            return look(client, target.files)

    return ExaminedFleet(*at_all(targets, work, workers=workers, done=done))
