"""What a digest text tells of a query."""

from __future__ import annotations

import pytest

from proxyctl.routing.digest import Digester
from proxyctl.routing.probes import CHANGING, LOCKING, PROBES, Kind
from proxyctl.stats.suggest.texts import not_cacheable, not_for_a_reader, tables_in


def text_of(query):
    return Digester().digest(query.encode()).text.decode()


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.what)
def test_what_lint_keeps_off_readers_is_kept_off_them_here(probe):
    assert (not_for_a_reader(text_of(probe.query)) is None) == (probe.kind is Kind.READ)


@pytest.mark.parametrize("probe", [*CHANGING, *LOCKING], ids=lambda probe: probe.what)
def test_what_lint_keeps_off_the_cache_is_kept_off_it_here(probe):
    assert not_cacheable(text_of(probe.query)) is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*), MAX(a) FROM t WHERE id IN (1, 2) AND (b = 1 OR c = 2)",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
        "SELECT IFNULL(a, 0) FROM t JOIN u USING (id) GROUP BY a HAVING COUNT(*) > 1",
        "select a, b from (select 1 as a, 2 as b) x",
    ],
)
def test_plain_reads(query):
    assert not_for_a_reader(text_of(query)) is None
    assert not_cacheable(text_of(query)) is None


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT a FROM t", ("t",)),
        ("SELECT a FROM `Shop`.`Orders` o JOIN users u ON u.id = o.id", ("orders", "users")),
        ("SELECT a FROM t1 a, t2 b WHERE a.id = b.id", ("t1", "t2")),
        ("UPDATE t SET a = 1", ("t",)),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE c = 2", ("t",)),
        ("DELETE FROM t WHERE id IN (SELECT id FROM u)", ("t", "u")),
        ("SELECT a FROM t FOR UPDATE", ("t",)),
        ("SELECT 1", ()),
    ],
)
def test_tables(query, tables):
    assert tables_in(text_of(query)) == tables
