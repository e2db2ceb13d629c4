"""The folder of snapshots: what an apply left there, and what became of it since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from proxyctl.admin import snapshot_file
from proxyctl.admin.client import AdminClient
from proxyctl.admin.login import Login
from proxyctl.admin.snapshot_folder import folder_of, kept
from proxyctl.catalog import TABLES
from proxyctl.families import Family
from proxyctl.render.history_text import history_json, history_text, taken_when
from proxyctl.render.plan_machine import plan_json
from proxyctl.render.plan_text import plan_text
from proxyctl.rolling_back import rollback_plan, target
from proxyctl.snapshot import OMITTED, Occasion, Owned
from proxyctl.state import Glob, Layer, Row, Scope, Span
from proxyctl.workflow import PlanOptions
from tests.fuzz.saved_files import junk
from tests.fuzz.target import Run, Target
from tests.support.answering_server import AnsweringServer
from tests.support.build import layout, row
from tests.support.recorded_answers import RecordedAnswers

_Rows = list[tuple[bytes | None, ...]]


class _Remembering(AdminClient):
    """Asks each statement once: the instance never changes, and inputs are what is tried here."""

    def _run(self, sql: str, masked: Callable[[], str]) -> tuple[_Rows, int]:
        told: dict[str, tuple[_Rows, int]] = self.__dict__.setdefault("told", {})
        if sql not in told:
            told[sql] = super()._run(sql, masked)
        rows, count = told[sql]
        return [*rows], count


_OWN = {
    "mysql_users": Owned(ignored=frozenset({"comment"})),
    "mysql_query_rules": Owned(
        Scope.of(("rule_id",), {"rule_id": [Span(1, 20), 30, Glob("4*")]}, "rule_id 1-20")
    ),
    "mysql_variables": Owned(),
}
_OCCASIONS = (
    Occasion(
        "apply",
        ("proxyctl.yaml",),
        by="ann@ops",
        proxyctl="0.1",
        owned=_OWN,
        changes={"MYSQL USERS": {"add": 1}},
        families=(Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40),),
        leftovers=frozenset({"SCHEDULER"}),
        hostgroup_names={10: "writer"},
        secrets=frozenset({("mysql_query_rules", (1,), "comment")}),
    ),
    Occasion("snapshot", by="ann@ops", proxyctl="0.1", omits_secrets=True),
)
_TABLES: dict[str, list[Row]] = {
    "mysql_servers": [
        row("mysql_servers", hostgroup_id=10, hostname="db1"),
        row("mysql_servers", hostgroup_id=20, hostname="db1", status="SHUNNED"),
    ],
    "mysql_galera_hostgroups": [
        row(
            "mysql_galera_hostgroups",
            writer_hostgroup=10,
            backup_writer_hostgroup=20,
            reader_hostgroup=30,
            offline_hostgroup=40,
        )
    ],
    "mysql_users": [
        row("mysql_users", username="app", password="*A", backend=1, frontend=0),
        row("mysql_users", username="app", password=OMITTED, backend=0, frontend=1),
    ],
    "mysql_query_rules": [row("mysql_query_rules", rule_id=1, match_digest="^SELECT", apply=1)],
    "mysql_variables": [("mysql-max_connections", "99"), ("mysql-interfaces", "(null)")],
}


def _text(occasion: Occasion, *, address: str = "127.0.0.1:6032", version: str = "2.7.1") -> bytes:
    """Return a snapshot without its checksum."""
    parts = []
    for name, rows in _TABLES.items():
        names = layout(name).names
        for layer in (Layer.MEMORY, Layer.RUNTIME):
            head = snapshot_file.table_head(name, layer, names)
            parts.append(snapshot_file.table(head, snapshot_file.rows_text(rows)))
        head = snapshot_file.table_head(name, Layer.DISK, names)
        parts.append(snapshot_file.same_table(head, "memory"))
    begin = snapshot_file.header(address, version, "2026-01-05T10:15:00+00:00")
    return begin + b",\n".join(parts) + snapshot_file.footer(occasion)


def _sealed(body: bytes) -> bytes:
    return body + snapshot_file.seal(hashlib.sha256(body).hexdigest())


@contextmanager
def _snapshots(folder: Path) -> Iterator[Run]:
    """Return what lists a folder and plans to go back, to this snapshot and to an older one.

    The first line of an input is the file beside the snapshot that tells how the apply ended. The
    rest, or all where there is one line, is a snapshot if it begins with `{`, or with `=` one whose
    checksum is made right: else nothing behind it is reached. Anything else are changes of a right
    snapshot, which many of them leave one that can be read.
    """
    with (
        patch.dict("os.environ", PROXYCTL_STATE_DIR=str(folder)),
        RecordedAnswers() as truth,
        AnsweringServer(folder, truth.answer) as server,
        _Remembering(Login(socket=server.path, password="admin")) as client,
    ):
        place = folder_of(client.address)
        place.mkdir(parents=True)
        older = place / "20260105T101500.000000Z.json"
        older.write_bytes(_sealed(_text(_OCCASIONS[0], address=client.address)))
        path = place / "20260105T101501.000000Z.json"
        seen: set[int] = set()

        def run(data: bytes) -> None:
            outcome, newline, text = data.partition(b"\n")
            if not newline:
                text = data
            path.with_suffix(".outcome").write_bytes(outcome)
            if text[:1] not in (b"", b"{", b"="):
                text = b"=" + _with_changes(text)
            if text[:1] == b"=":
                text = _sealed(text[1:].replace(b"127.0.0.1:6032", client.address.encode()))
            path.write_bytes(text)
            found = kept(client.address)
            assert found[1].summary is not None, found[1].problem
            history_text(found)
            history_json(client.address, found)
            for which in ("2", "1"):
                back_to = target(client.address, which)
                taken_when(back_to.snapshot)
                # Most inputs tell an older snapshot nothing, or what another one told it.
                told = hash((which, repr((back_to.since, back_to.secrets, back_to.warnings != ()))))
                if which == "2" and told in seen:
                    continue
                seen.add(told)
                plan = rollback_plan(client, back_to, PlanOptions())
                plan_text(plan)
                plan_json([plan])

        yield run


def _seeds() -> Sequence[bytes]:
    texts = [_text(occasion) for occasion in _OCCASIONS]
    return [
        *(b'{"outcome": "applied"}\n=' + text for text in texts),
        b'{"outcome": "did not finish"}\n' + _sealed(texts[0]),
        b"\n=" + _text(_OCCASIONS[1], version="2.5.5"),
        *(
            bytes([occasion, len(steps) - 1, *steps]) + said
            for occasion in range(len(_OCCASIONS))
            for steps in ((0, 0, 3, 0, 1), (0, 4, 3), (1, 5), (1, 6, 1, 0, 1), (1, 7, 0))
            for said in (b"7", b'"x"', b"null", b"[[]]", b"")
        ),
    ]


def _words() -> Sequence[bytes]:
    marks = (
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"true",
        b"1e999",
        b'"\\ud800"',
        b'"\\u0000"',
    )
    keys = ("format", "table", "layer", "columns", "rows", "same_as", "scope", "from", "to", "like")
    return [
        *marks,
        *(json.dumps(word).encode() for word in (*keys, *TABLES, "runtime", "disk", "omitted")),
        *(snapshot_file.TABLES_BEGIN, snapshot_file.TABLES_END, b'{"omitted": true}'),
    ]


def _with_changes(data: bytes) -> bytes:
    """Return a snapshot with some of its values replaced or left out, without a checksum.

    The first byte chooses the snapshot. Then come changes up to the next unit separator: how deep
    the value is, a byte for each step on the way there, and JSON; any other text is that text.
    """
    document = json.loads(_text(_OCCASIONS[(data[0] if data else 0) % len(_OCCASIONS)]) + b"}")
    body = {name: document[name] for name in ("tables", "occasion")}
    for part in data[1:].split(b"\x1f")[:4]:
        depth = 1 + part[0] % 6 if part else 1
        _change(body, part[1 : 1 + depth], part[1 + depth :])
    return _written(document, body.get("occasion"), body.get("tables"))


def _change(value: Any, steps: bytes, said: bytes) -> None:
    """Change what lies behind the steps; behind fewer of them where there is nothing deeper."""
    for number, step in enumerate(steps, 1):
        if not value:
            return
        key = [*value][step % len(value)] if isinstance(value, dict) else step % len(value)
        if number < len(steps) and isinstance(value[key], dict | list) and value[key]:
            value = value[key]
        elif said:
            value[key] = _as_json(said)
            return
        else:
            del value[key]
            return


def _as_json(said: bytes) -> Any:
    with suppress(ValueError):
        if len(said) < 500:  # so short that it is not too deep to be written again
            return json.loads(said)
    return said.decode("utf-8", "surrogateescape")


def _written(document: Any, occasion: Any, tables: Any) -> bytes:
    """Return the document with another occasion and other tables, as a file without a checksum."""
    begin = snapshot_file.header(document["address"], document["version"], document["taken_at"])
    listed = tables if isinstance(tables, list) else [tables]
    text = begin + b",\n".join(json.dumps(one).encode() for one in listed)
    return text + snapshot_file.TABLES_END + b'"occasion": ' + json.dumps(occasion).encode()


def _changed(document: Any, source: Any) -> Any:
    """Return the document with one of its values, at any depth, replaced or left out."""
    if not isinstance(document, dict | list) or not document or source.draw(st.integers(0, 4)) == 0:
        return source.draw(junk)
    changed: Any = document.copy()
    key = source.draw(
        st.sampled_from(list(changed) if isinstance(changed, dict) else range(len(changed)))
    )
    if source.draw(st.integers(0, 6)) == 0:
        del changed[key]
    else:
        changed[key] = _changed(changed[key], source)
    return changed


@st.composite
def _nearly_right(draw: Any) -> bytes:
    """Return a snapshot with a right checksum, and one value that is another one."""
    document = json.loads(_text(draw(st.sampled_from(_OCCASIONS))) + b"}")
    part = draw(st.sampled_from(["occasion", "tables", "tables"]))
    document[part] = _changed(document[part], draw(st.data()))
    return b"{}\n=" + _written(document, document["occasion"], document["tables"])


SNAPSHOT_TARGETS = (Target("snapshots", "saved files", _snapshots, _seeds, _words, _nearly_right),)
