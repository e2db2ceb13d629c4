"""Layers that differ, variables that wait for a restart, and cluster members that do not follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import ADMIN_MODULES
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Diagnosis, duration, listed
from proxyctl.instance.cluster import Member, checksum_names, diffs_variable
from proxyctl.plan.diff import TableDiff
from proxyctl.proxysql.compare import Difference
from proxyctl.rows.row import Key, row_name


def layers(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the admin modules whose layers differ, and the variables that wait for a restart."""
    for module in ADMIN_MODULES.values():
        diffs = {t.name: facts.diffs[t.name] for t in module.tables if t.name in facts.diffs}
        unloaded = {name: _keys(diff.unpublished) for name, diff in diffs.items()}
        unsaved = {
            name: [key for key in _keys(diff.unsaved) if key not in unloaded[name]]
            for name, diff in diffs.items()
        }
        if any(unloaded.values()):
            yield Diagnosis(
                "not-loaded",
                module.name,
                f"edited in MEMORY, not loaded to RUNTIME: {_rows_text(diffs, unloaded)}; the next"
                " LOAD will publish this",
                f"{_publish(facts, module.name)}; to revert it, send the statements that"
                " `proxyctl plan` prints, or `proxyctl apply --discard-pending` for rows of the"
                " files",
            )
        if any(unsaved.values()):
            yield Diagnosis(
                "not-saved",
                module.name,
                f"at RUNTIME, not saved to DISK: {_rows_text(diffs, unsaved)}; a restart will"
                " revert this",
                f"to keep it, SAVE {module.name} TO DISK; to revert it, LOAD {module.name} FROM"
                f" DISK, then LOAD {module.name} TO RUNTIME",
            )
    yield from _mistyped(facts)
    yield from _restart_pending(facts)


def _publish(facts: Facts, module: str) -> str:
    """Return how to publish MEMORY. A plain LOAD of servers moves monitored nodes."""
    if module == "MYSQL SERVERS" and facts.families:
        return (
            "to publish it, add it to the files and run `proxyctl apply`: a LOAD would move nodes"
        )
    return f"to publish it, LOAD {module} TO RUNTIME"


def _mistyped(facts: Facts) -> Iterator[Diagnosis]:
    for cells in facts.mistyped:
        danger = ", and a second row for the same key can crash ProxySQL" if cells.is_key else ""
        yield Diagnosis(
            "mistyped-cells",
            cells.subject,
            f"{cells.rows}: {cells.type.name}, so SQL comparisons do not match the value that"
            f" ProxySQL reads{danger}",
            cells.fix,
        )


def _restart_pending(facts: Facts) -> Iterator[Diagnosis]:
    for diff in facts.diffs.values():
        for key, row in diff.restart_only.items():
            name, on_disk = str(key[0]), str(row[1])
            running = facts.variables.get(name)
            # An empty text on DISK means the default, which is the running value.
            if running is not None and on_disk and running != on_disk:
                yield Diagnosis(
                    "restart-pending",
                    name,
                    f"{facts.shown(name, running)} now,"
                    f" {facts.shown(name, on_disk)} after a restart",
                    "restart ProxySQL",
                )


def _keys(differences: Iterable[Difference]) -> list[Key]:
    return list(dict.fromkeys(difference.key for difference in differences))


def _rows_text(diffs: Mapping[str, TableDiff], rows: Mapping[str, list[Key]]) -> str:
    names = (
        dict.fromkeys(row_name(diffs[name].layout.name, key) for key in keys)
        for name, keys in rows.items()
    )
    return "; ".join(listed(names_of_table) for names_of_table in names if names_of_table)


_SETTLES_S = 30
"""Members synchronise in two to three seconds; after this time something holds them back."""


def cluster(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the peers that do not answer, and the peers that hold other rows."""
    membership = facts.membership
    if not membership.has_peers:
        return
    names = ("admin-cluster_username", "admin-cluster_password")
    missing = [name for name in names if not facts.variables.get(name)]
    if missing:
        yield Diagnosis(
            "cluster-no-account",
            "cluster",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} empty: this instance"
            " cannot synchronise with its peers",
            "set both on every member to an account of admin-admin_credentials",
        )
        return
    patience_s = max(_SETTLES_S, 5 * facts.number("admin-cluster_check_interval_ms") / 1000)
    silent = [member for member in membership.listed if member.silence(patience_s)]
    for member in silent:
        yield Diagnosis(
            "peer-silent",
            f"peer {member.name}",
            member.silence(patience_s),
            "start it; check the network, its admin-cluster_username and its version"
            f" ({facts.version_text}); or delete it from proxysql_servers",
        )
    for module, name in checksum_names(membership.own).items():
        for member, reason, fix in membership.not_following(name, patience_s):
            if member not in silent:
                yield from _differing(facts, member, module, name, (reason, fix))


def _differing(
    facts: Facts, member: Member, module: str, name: str, explanation: tuple[str, str]
) -> Iterator[Diagnosis]:
    """Yield a finding if a peer has held other rows than this instance for long enough."""
    own, seen = facts.membership.own[name], member.checksums.get(name)
    if seen is None:
        return
    where, switch_variable = f"{module}, peer {member.name}", diffs_variable(name)
    age_s = facts.now - max(own.epoch, seen.epoch)
    if facts.variables.get(switch_variable) == "0":
        yield Diagnosis(
            "peer-not-synchronised",
            where,
            f"its rows differ, but {switch_variable} is 0: this instance never copies them",
            f"set variables: {{{switch_variable}: 3}}, or apply the same files to both",
        )
    elif age_s >= _SETTLES_S:
        reason, fix = explanation
        yield Diagnosis("peer-differs", where, f"{reason}, for {duration(age_s)}", fix)
