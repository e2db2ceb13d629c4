"""The command doctor: findings about a running ProxySQL, with fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyctl.cli.completion import finding_codes
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import flag, no_such, value
from proxyctl.cli.options import BackendOptions, FleetOptions, FormatOption
from proxyctl.cli.output import emit, progress, style

if TYPE_CHECKING:
    from proxyctl.config.files import ConfigFiles
    from proxyctl.doctor.finding import Examination
    from proxyctl.instance.client import AdminClient


def doctor(
    selection: SelectionOptions,
    fleet: FleetOptions,
    servers: BackendOptions,
    no_ask: bool = flag("--no-ask", "Do not connect to the servers behind ProxySQL."),
    memory: bool = flag(
        "--memory",
        "Measure the memory of the digests. Queries wait while it is measured: about 1 s for"
        " 500,000 digests.",
    ),
    ignore: list[str] | None = value(
        "CODE", "Leave out findings with this code; repeatable.", autocompletion=finding_codes
    ),
    strict: bool = flag("--strict", "Also exit 1 for a warning."),
    format: FormatOption = "text",
) -> int:
    """Find what is wrong with a running ProxySQL. Exit 1 for an error."""
    from proxyctl.doctor.examine import examine, examine_fleet
    from proxyctl.doctor.facts import read_facts
    from proxyctl.doctor.finding import CODES
    from proxyctl.render.doctor import doctor_json, doctor_text

    ignored = frozenset(ignore or ())
    for code in sorted(ignored - CODES.keys()):
        fix = "see docs/reference/doctor-findings.md, which lists all codes"
        raise no_such("--ignore", code, "finding", CODES, fix=fix)

    trust = servers.trust()

    def examined(client: AdminClient, parsed: ConfigFiles) -> Examination:
        facts = read_facts(
            client,
            trust,
            asks=not no_ask,
            memory=memory,
            hostgroup_names=parsed.hostgroup_names(),
            secret_variables=parsed.referenced_variables(),
        )
        return examine(facts, ignored)

    targets, is_all = selection.targets(fleet, files_are_optional=True), fleet.all_instances
    with progress("examining", len(targets) if is_all else 0) as advance:
        examinations = examine_fleet(targets, examined, workers=fleet.parallel, done=advance)
    emit(
        format,
        text=lambda: doctor_text(examinations, style(), is_all=is_all),
        json=lambda: doctor_json(examinations, is_all=is_all),
    )
    return examinations.exit_code(strict=strict)
