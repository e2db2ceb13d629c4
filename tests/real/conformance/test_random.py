"""The sandbox and a real ProxySQL answer the same random statements alike."""

from __future__ import annotations

import pymysql
import pytest

from tests.real.conformance.random_statements import layouts, statements
from tests.support.servers.instances import Instance, sandbox_of

SEEDS = range(40)


def answer(instance: Instance, sql: str) -> object:
    try:
        return instance.run(sql)
    except pymysql.err.MySQLError as error:
        return error.args


@pytest.mark.parametrize("seed", SEEDS)
def test_both_answer_alike(seed: int, real_proxysql: Instance) -> None:
    version = real_proxysql.version
    with sandbox_of(version) as sandbox:
        for sql in statements(seed, version):
            assert answer(sandbox, sql) == answer(real_proxysql, sql), sql
        for layout in layouts(version):
            order = ",".join(map(str, range(1, len(layout.columns) + 1)))
            for layer in ("main.", "main.runtime_", "disk."):
                sql = f"SELECT * FROM {layer}{layout.name} ORDER BY {order}"
                assert answer(sandbox, sql) == answer(real_proxysql, sql), sql
