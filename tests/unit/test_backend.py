"""A server behind ProxySQL: its answers, the reasons for no answer, and an empty password."""

from __future__ import annotations

from proxyctl.instance.backend import Account, NodeAnswer, ask_nodes, backend
from proxyctl.proxysql.topology import Node
from tests.support.protocol.mysql_servers import (
    Answer,
    AnsweringServer,
    error,
    packets,
    result,
)
from tests.support.protocol.packets import OK
from tests.support.servers.instances import free_port

ACCOUNT = Account("monitor", "s3cret-of-monitor")
DONE = packets([OK])


def node_answer(node: Node, account: Account = ACCOUNT) -> NodeAnswer:
    return ask_nodes([node], account)[node]


def answer_with(variables: Answer, account: Account = ACCOUNT) -> NodeAnswer:
    """Return the answer of a server whose reply to SHOW VARIABLES is `variables`."""
    with AnsweringServer(lambda sql: variables if b"VARIABLES" in sql else DONE) as server:
        return node_answer(("127.0.0.1", server.port), account)


def test_a_server_says_its_version() -> None:
    cells = [[b"version", b"8.0.36"], [b"wsrep_node_name", b"x\xe9"], [b"pxc_maint_mode", None]]
    found = answer_with(result([b"a", b"b"], cells))
    assert (found.version, found.unreachable) == ("8.0.36", None)
    assert found.variables == {"version": "8.0.36", "wsrep_node_name": "x\udce9"}


def test_when_the_certificate_of_a_server_expires() -> None:
    for text, end in ((b"Dec  9 04:58:19 2026 GMT", 1796792299), (b"", None), (b"soon", None)):
        status = result([b"a", b"b"], [[b"Ssl_server_not_after", text]])
        with AnsweringServer(lambda sql, on=status: on if b"STATUS" in sql else DONE) as server:
            found = node_answer(("127.0.0.1", server.port))
        assert (found.certificate_end, found.unreachable) == (end, None)


def test_why_a_server_could_not_be_asked() -> None:
    assert answer_with(error(1227, b"Access denied")).unreachable == "Access denied"
    assert "Lost connection" in (answer_with(b"").unreachable or "")
    nobody = node_answer(("127.0.0.1", free_port())).unreachable
    assert nobody == "refused: nothing is listening there"
    assert node_answer(("/run/mysql.sock", 0)).unreachable is not None
    assert node_answer(("a..b", 3306)).unreachable is not None


def test_without_a_monitor_user_nobody_logs_in() -> None:
    """A driver would log in as the user of this machine instead."""
    found = answer_with(result([b"a", b"b"], [[b"version", b"8.0.36"]]), Account("", "x"))
    assert found.unreachable == ("no account to log in with: mysql-monitor_username is empty")


def test_an_account_whose_bytes_are_no_text() -> None:
    """ProxySQL may hold such a password for its monitor."""
    with (
        AnsweringServer(lambda _: DONE) as server,
        backend(("127.0.0.1", server.port), Account("m\udce9", "\udce9")) as connection,
    ):
        assert connection.query("SELECT 1", columns=1) == []
