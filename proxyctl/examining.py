"""Reads one instance for the doctor: every table in three layers, and what else there is to know.

instance -> Facts -> (proxyctl.doctor) -> Examination
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache

from proxyctl.admin.backend import Account
from proxyctl.admin.backends import ask_nodes
from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_own_checksums, read_peer_checksums, read_peers
from proxyctl.admin.destinations import (
    read_failing,
    read_fast_routing,
    read_fast_routing_to,
    read_pooled_versions,
    read_servers,
    read_side,
    read_users,
    with_latencies,
)
from proxyctl.admin.digest_size import read_digest_size
from proxyctl.admin.drains import read_drains
from proxyctl.admin.lock import read_holder
from proxyctl.admin.login import Login
from proxyctl.admin.members import same_account
from proxyctl.admin.monitor_logs import read_monitor_logs
from proxyctl.admin.nodes import read_group_checks, read_wsrep
from proxyctl.admin.peer_clocks import read_peer_clocks
from proxyctl.admin.read import TableReader
from proxyctl.admin.whole_answer import query_whole
from proxyctl.catalog.variable_rules import atoi
from proxyctl.cells import number
from proxyctl.configuration import Configuration, Held, variables_of
from proxyctl.doctor.facts import Facts, Rule, Side, User
from proxyctl.doctor.recovering import with_recovering
from proxyctl.doctor.runtime_rules import flags_set_by, runtime_rules
from proxyctl.errors import ProxyctlError
from proxyctl.families import FAMILY_TABLES, Family, Node, families_in
from proxyctl.instance_survey import LARGE, InstanceSurvey, all_layers, look_at
from proxyctl.lint.default_hostgroups import left_to_defaults
from proxyctl.lint.rule_says import Say, says_of_senders
from proxyctl.lint.subject import FAST_ROUTING, RULES, USERS, Subject
from proxyctl.nodes.model import Said
from proxyctl.online_limits import ATTRIBUTES, online_limits
from proxyctl.state import Layer, Row
from proxyctl.survey import Surroundings


def read_facts_for_doctor(
    client: AdminClient,
    *,
    asks: bool = True,
    ask: Callable[[Collection[Node], Account], Mapping[Node, Said]] = ask_nodes,
    memory: bool = False,
    hostgroup_names: Mapping[int, str] | None = None,
    login_at: Callable[[Login, Node], Login] = same_account,
) -> Facts:
    """Return what there is to know. Sends SELECTs only.

    `asks`: connect to the servers, as the monitor would, with `ask`, and to the other members of
    its cluster; `login_at`: who we are there. `memory`: have the digests summed up, while which
    queries wait. Raises: InstanceError.
    """
    survey = _surveyed(client)
    variables = _variables(client)
    most_ms = atoi(variables.get("mysql-default_max_latency_ms", "1000"))
    servers = with_latencies(client, read_servers(client), most_ms)
    nodes = {server.node for server in servers}
    account = Account(
        variables.get("mysql-monitor_username", ""), variables.get("mysql-monitor_password", "")
    )
    said = ask(sorted(nodes, key=str), account) if asks else {}
    unknown = {node for node in nodes if node not in said or not said[node].version}
    holder = read_holder(client)
    dead = holder if holder is not None and holder.is_dead() else None
    peers = read_peers(client)
    most_online = _most_online(survey)
    users = read_users(client)
    asking = _asking(users, has_ldap=any(name.startswith("ldap-") for name in variables))
    facts = Facts(
        name=client.login.name or client.address,
        address=client.address,
        version_text=client.version_text,
        version=client.version,
        now=_now(client),
        asks=asks,
        variables=variables,
        hostgroup_names=hostgroup_names or {},
        servers=servers,
        families=survey.surroundings.memory_families,
        users=users,
        most_online=most_online,
        pgsql=_pgsql(survey),
        monitor_logs=read_monitor_logs(client),
        said=said,
        pooled_versions=read_pooled_versions(client, unknown),
        wsrep=read_wsrep(client) if survey.surroundings.memory_families else {},
        group_checks=read_group_checks(client) if survey.surroundings.memory_families else {},
        surveys=survey.done,
        drains=survey.surroundings.drains,
        dead_apply=dead.text() if dead is not None else "",
        dead_modules=frozenset(dead.modules) if dead is not None else frozenset(),
        own=read_own_checksums(client) if peers else {},
        peers=peers,
        peer_checksums=read_peer_checksums(client) if peers else (),
        peer_clocks=read_peer_clocks(client, login_at) if peers and asks else {},
        resident_bytes=_resident(client),
        digest_bytes=read_digest_size(client).memory if memory else None,
    )
    if any(server.status == "SHUNNED" for server in servers):
        facts = replace(facts, servers=with_recovering(facts, read_failing(client)))
    mysql, _ = facts.sides
    rules, users = _judged(survey, mysql, asking)
    fast_routing = _fast_routing(survey, mysql, asking)
    return replace(facts, rules=rules, users=users, fast_routing=fast_routing)


def _asking(users: Collection[User], *, has_ldap: bool) -> frozenset[str] | None:
    """Return whose queries meet rules and fast routing; None where that is not known.

    `has_ldap`: others than the users may log in.
    """
    if has_ldap or not users:
        return None
    return frozenset(user.username for user in users if not user.fast_forward)


def _fast_routing(
    survey: InstanceSurvey, mysql: Side, asking: Collection[str] | None
) -> Mapping[int, int]:
    """Return the rows of fast routing by destination, of one that nobody serves those that count.

    No query finds a row of a user who is not there, or of a flagIN that no rule leads to.
    """
    found = read_fast_routing(survey.client)
    lost = [hostgroup for hostgroup in found if not mysql.is_served(hostgroup)]
    if not lost:
        return found
    flags = flags_set_by(_at_runtime(survey, RULES), asking)
    counting = dict.fromkeys(lost, 0)
    for row in read_fast_routing_to(survey.client, lost):
        is_asked = asking is None or (row.username in asking if row.username else bool(asking))
        if is_asked and (flags is None or row.flag in flags):
            counting[row.destination] += row.rows
    return {hostgroup: count for hostgroup, count in (found | counting).items() if count}


def _judged(
    survey: InstanceSurvey, mysql: Side, asking: Collection[str] | None
) -> tuple[tuple[Rule, ...], tuple[User, ...]]:
    """Return rules and users, with what those count for that lead to hostgroups without servers.

    `mysql`: the servers and users that there are. `asking`: as `_asking` says.
    """
    held, users = _at_runtime(survey, RULES), mysql.users
    rules = runtime_rules(held, asking)
    is_served = cache(mysql.is_served)
    senders: dict[int, list[int]] = {}
    tried = [rule for rule in rules if rule.say is not Say.NEVER_TRIED]
    for rule in tried:
        for hostgroup in (rule.destination, rule.mirror):
            if hostgroup is not None and not is_served(hostgroup):
                senders.setdefault(hostgroup, []).append(rule.rule_id)
    lost = {user.username for user in users if not is_served(user.default_hostgroup)}
    if not tried or not (senders or lost):
        return rules, users
    variables = variables_of(_at_runtime(survey, "mysql_variables").rows.values())
    held = _of_rules(held, {rule.rule_id for rule in tried})
    configuration = Configuration(survey.client.version, {RULES: held}, variables)
    lost -= {user.username for user in users if user.fast_forward}
    try:
        says = says_of_senders(Subject(configuration), senders, asking)
        left = left_to_defaults(_with_users(survey, configuration) if lost else configuration, lost)
    except ProxyctlError:
        # The variables are such that nobody can tell the digests; so every rule counts.
        return rules, users
    return (
        tuple(rule._replace(say=says.get(rule.rule_id, rule.say)) for rule in rules),
        tuple(user._replace(left=left.get(user.username, user.left)) for user in users),
    )


def _with_users(survey: InstanceSurvey, configuration: Configuration) -> Configuration:
    """Return the configuration with what else says where queries go."""
    more = {name: _at_runtime(survey, name) for name in (USERS, FAST_ROUTING)}
    return replace(configuration, tables={**configuration.tables, **more})


def _of_rules(held: Held, rule_ids: Collection[int]) -> Held:
    """Return these rules of a table."""
    at = held.layout.index["rule_id"]
    rows = {key: row for key, row in held.rows.items() if number(row[at]) in rule_ids}
    return replace(held, rows=rows)


def _most_online(survey: InstanceSurvey) -> dict[int, int]:
    """Return max_num_online_servers by hostgroup; empty where ProxySQL takes no notice of it."""
    if ATTRIBUTES not in survey.layouts:
        return {}
    held = _at_runtime(survey, ATTRIBUTES)
    limits = online_limits(held.layout, held.rows)
    return {hostgroup: most for hostgroup, most in limits.items() if isinstance(hostgroup, int)}


def _pgsql(survey: InstanceSurvey) -> Side:
    """Return who sends queries where on the side of PostgreSQL, which is there since 3.0."""
    if "pgsql_servers" not in survey.layouts:
        return Side("pgsql")
    rules = runtime_rules(_at_runtime(survey, "pgsql_query_rules"))
    return read_side(survey.client, "pgsql", rules)


def _at_runtime(survey: InstanceSurvey, table: str) -> Held:
    layout = survey.layouts[table]
    return Held(layout, survey.reader.read(layout, Layer.RUNTIME))


def _surveyed(client: AdminClient) -> InstanceSurvey:
    """Return every table in its three layers, compared with MEMORY: there are no files here."""
    look = look_at(client)
    survey = InstanceSurvey(client, TableReader(client), look.layouts, look.facts, {})
    survey.surroundings = Surroundings(
        memory_families=_families(survey),
        is_cluster_member=look.facts.is_cluster_member,
        drains=read_drains(client, look.layouts["mysql_servers"]),
    )
    large = [look.layouts[name] for name in LARGE if name in look.layouts]
    with survey.reader.reading_ahead(all_layers(large)):
        for layout in large:
            survey.table(layout.name)
    for name in look.layouts:
        survey.table(name)
    return survey


def _families(survey: InstanceSurvey) -> tuple[Family, ...]:
    """Return the families whose nodes the monitor places now."""
    if not survey.facts.monitor_enabled:
        return ()
    rows: dict[str, list[Row]] = {
        name: list(survey.reader.read(survey.layouts[name], Layer.RUNTIME).values())
        for name in FAMILY_TABLES
        if name in survey.layouts
    }
    return tuple(families_in(survey.layouts, rows, rds_discovery=survey.facts.rds_discovery))


def _variables(client: AdminClient) -> dict[str, str]:
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables", width=2
    )
    return {str(name): value or "" for name, value in rows}


def _now(client: AdminClient) -> int:
    """Return the time of the instance's clock, in unix seconds."""
    sql = "SELECT strftime('%s','now')"
    rows = client.query(sql, width=1)
    if not rows:
        raise client.strange("no row", sql)
    return client.number(rows[0][0])


def _resident(client: AdminClient) -> int | None:
    """Return the memory that the history has last; None where it is not kept."""
    newest = "SELECT resident FROM stats_history.system_memory ORDER BY timestamp DESC LIMIT 1"
    rows = query_whole(client, newest, width=1)
    return client.number(rows[0][0]) if rows and rows[0][0] is not None else None
