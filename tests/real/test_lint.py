"""What lint calls dead has no hit on a real ProxySQL; what it sends to a reader arrives there."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from proxyctl.lint.sample_queries import sent_to_readers
from proxyctl.lint.subject import Subject
from proxyctl.routing.probes import Kind
from proxyctl.routing.reach import Session
from proxyctl.state.configuration import Held
from tests.support.build import layout, rows
from tests.support.routing_cases import DIGEST_PATTERNS
from tests.support.routing_recorded import observed
from tests.support.routing_rig import Rig
from tests.support.routing_shapes import ADDRESSES, USERS, Case, Client
from tests.unit.test_lint_claims import case_of, dead_rules, subject_of

pytestmark = pytest.mark.real

FAMILIES = "mysql_replication_hostgroups"
TO_READER = {"destination_hostgroup": 0}
SPLITS = ("^SELECT", "SELECT", "^(SELECT|WITH)", "FROM orders", "^SELECT.*FROM t1", "^UPDATE t1")


@pytest.mark.since("2.6.0", "some digests are others")
@pytest.mark.parametrize("seed", range(8))
def test_a_dead_rule_has_no_hit(rig: Rig, seed: int) -> None:
    case = case_of(Random(seed), rig.ports)
    dead = dead_rules(subject_of(case))
    assert dead & observed(rig, case).hits.keys() == set(), case.rules


def split(case: Case, writer: int, reader: int) -> Subject:
    """A case under lint, with two of its hostgroups as writer and reader, and the users."""
    family = {"writer_hostgroup": writer, "reader_hostgroup": reader}
    given = {FAMILIES: [family], "mysql_users": USERS}
    held = {name: Held(layout(name), rows(name, *cells)) for name, cells in given.items()}
    configuration = subject_of(case).configuration
    return Subject(replace(configuration, tables={**configuration.tables, **held}))


def client_of(session: Session, ports: list[int]) -> Client | None:
    """Who has such a session at the rig, if anybody can have it there."""
    address, port = session.proxy_addr, session.proxy_port
    interfaces = [
        number
        for number, (known, at) in enumerate(zip(ADDRESSES, ports, strict=True))
        if address in (None, known) and port in (None, at)
    ]
    client_addr = session.client_addr or "127.0.0.1"
    if session.flag or not interfaces or not client_addr.startswith("127."):
        return None
    return Client(
        session.username or "app", session.schemaname or "shop", client_addr, interfaces[0]
    )


def case_with_readers(random: Random, ports: list[int]) -> Case:
    """A random case that also sends some queries to hostgroup 0."""
    case = case_of(random, ports)
    first = max((int(str(rule["rule_id"])) for rule in case.rules), default=0)
    for number in range(first + 1, first + 6):
        pattern = random.choice((*DIGEST_PATTERNS, *SPLITS))
        case.rules.append({"rule_id": number, "match_digest": pattern, "apply": 1, **TO_READER})
    return case


@pytest.mark.since("2.6.0", "some digests are others")
def test_what_goes_to_a_reader_arrives_there(rig: Rig) -> None:
    random = Random(7)
    tried = 0
    for _ in range(50):
        case = case_with_readers(random, rig.ports)
        rig.observe(replace(case, queries=[]))
        subject = split(case, writer=1, reader=0)
        for kind in (Kind.LOCK, Kind.FUNCTION, Kind.WRITE):
            for finding, sent in sent_to_readers(subject, kind):
                if (client := client_of(sent.session, rig.ports)) is not None:
                    seen = rig.send(client, sent.query)[sent.query]
                    assert seen.hostgroup == sent.hostgroup, (finding.text, case.rules)
                    tried += 1
    assert tried > 40
