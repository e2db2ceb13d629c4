"""Files of a project: YAML, templates, and tables in CSV and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from hypothesis import strategies as st

from proxyctl.catalog import REFERENCE, TABLES, Version, parse_version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.context import SPECIAL, TABLE_SECTIONS
from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError
from proxyctl.lint.check import all_checks
from proxyctl.lint.run import lint
from proxyctl.lint.subject import LintSubject
from tests.properties.fuzz.target import Run, Target, files_like
from tests.support.any_file import any_files

_VERSIONS = tuple(map(parse_version, ("2.4.0", "2.7.1", "3.0.12")))
_TABLES = ("mysql_servers", "mysql_users", "mysql_query_rules", "mysql_query_rules_fast_routing")
_VARIABLES = {"count": "3", "name": "app", "shards": "4", "env": "prod"}


def _version(data: bytes) -> Version:
    return _VERSIONS[crc32(data) % len(_VERSIONS)]


def _load(path: Path, version: Version, variables: dict[str, object] | None = None) -> None:
    try:
        load_project(Sources((str(path),), variables or {}, restrict_paths=True), version=version)
    except ConfigError as error:
        # A mistake without a place is one that nobody finds.
        lost = [mistake.text() for mistake in error.mistakes if not mistake.line and not variables]
        assert not lost, lost
        raise


@contextmanager
def _yaml(folder: Path) -> Iterator[Run]:
    path = folder / "proxyctl.yaml"

    def run(data: bytes) -> None:
        path.write_bytes(data)
        _load(path, _version(data))

    yield run


@contextmanager
def _template(folder: Path) -> Iterator[Run]:
    path = folder / "proxyctl.yaml.j2"

    def run(data: bytes) -> None:
        path.write_bytes(data)
        _load(path, _version(data), dict(_VARIABLES))

    yield run


@contextmanager
def _beside(folder: Path, kind: str) -> Iterator[Run]:
    """Return a reader of a table file beside the YAML. An input's first byte chooses the table."""

    def run(data: bytes) -> None:
        table = _TABLES[data[0] % len(_TABLES) if data else 0]
        (folder / f"rows.{kind}").write_bytes(data[1:])
        main = folder / "proxyctl.yaml"
        main.write_text(f"hostgroups: {{writer: {{id: 1}}}}\n{table}: {{{kind}: rows.{kind}}}\n")
        _load(main, REFERENCE)

    yield run


@contextmanager
def _lint(folder: Path) -> Iterator[Run]:
    path = folder / "proxyctl.yaml"
    checks = list(all_checks().values())

    def run(data: bytes) -> None:
        path.write_bytes(data)
        sources = Sources((str(path),), restrict_paths=True)
        project = load_project(sources, takes_dead_rules=True, needs_secrets=False)
        lint(LintSubject(project.configuration), checks, project.ignores)

    yield run


def _yaml_seeds() -> Sequence[bytes]:
    return files_like(
        "examples/*/*.yaml",
        "templates/*/*.yaml",
        "tests/golden/config/*/*.yaml",
        "tests/golden/plan/*/*.yaml",
    )


def _template_seeds() -> Sequence[bytes]:
    return files_like("examples/**/*.j2", "templates/*/*.j2", "tests/golden/config/*/*.j2")


def _names() -> Sequence[bytes]:
    columns = {column.name for table in TABLES.values() for column in table.columns}
    names = [*SPECIAL, *TABLE_SECTIONS, *columns, *list(VARIABLES)[::10]]
    return [name.encode() for name in names]


def _yaml_words() -> Sequence[bytes]:
    marks = (
        *(b": ", b"- ", b"\n", b"\n  ", b"\n- ", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"<<: *a"),
        *(b"|\n ", b">\n ", b"---\n", b"...\n", b"!!str ", b"!x ", b"? ", b"# ", b"%YAML 1.1\n"),
        *(b"{env: HOME}", b"{file: proxyctl.yaml}", b"{csv: /dev/zero}", b"{hex: c3}", b"{1..3}"),
        *(b"1-9", b"writer", b"(a|b)*", b"(?i)", b"\\1", b".*", b"12:30", b"010", b"1_000", b"on"),
    )
    return [*marks, *(name + b": " for name in _names())]


def _template_words() -> Sequence[bytes]:
    marks = (
        *(b"{{ ", b" }}", b"{% ", b" %}", b"{# ", b" #}", b"{% for i in (1,) %}", b"{% endfor"),
        *(b"{% if a %}", b"{% endif %}", b"{% set a = 1 %}", b"{% macro m(a) %}", b"{% endmacro"),
        *(b"{% include 'proxyctl.yaml.j2' %}", b"{% raw %}", b"{% block a %}", b"{% call m() %}"),
        *(b"{% filter upper %}", b"{% import 'x' as y %}", b"{% extends 'x' %}", b"loop.index"),
        *(b"|join(',')", b"|int", b"|batch(2)", b"|map('upper')", b"|tojson", b"|format(1)"),
        *(b"|replace('a','b')", b"|sort", b"|groupby('a')", b"|slice(3)", b"|xmlattr", b"|sum"),
        *(b"|random", b"|indent(9)", b"|center(99999)", b"'x' * 99999", b"2 ** 999", b"~", b"%"),
        *(b"name", b"count", b"shards", b"self", b"cycler", b"namespace", b"''.__class__", b"dict"),
        *(b"[1, 2]", b"{'a': 1}", b"(1,)", b"loop", b"joiner", b"fail('a')", b"caller()"),
    )
    return [*marks, *_yaml_words()[:40]]


def _with_table(text: bytes) -> bytes:
    """Return a file of rows after the byte that chooses its table."""
    for number, name in reversed([*enumerate(_TABLES)]):
        if all(column.encode() in text for column in TABLES[name].key):
            return bytes([number]) + text
    return b"\0" + text


def _csv_seeds() -> Sequence[bytes]:
    made = (
        b"hostgroup_id,hostname,port,status,comment\nwriter,a,3306,ONLINE,x\n2,b,,,\n",
        b'username,password,default_hostgroup,attributes\n"a","*0123","1","{""a"":1}"\nb,\\N,0,\n',
        b"rule_id,active,match_digest,destination_hostgroup,apply\n1,true,^SELECT,2,1\n",
        b"username,schemaname,flagIN,destination_hostgroup\n,a,0,1\n,b,0,writer\n",
    )
    return [_with_table(text) for text in (*files_like("tests/golden/config/csv/*.csv"), *made)]


def _jsonl_seeds() -> Sequence[bytes]:
    made = (
        b'{"hostgroup_id": "writer", "hostname": "a", "weight": 3}\n{"hostgroup_id": 1}',
        b'{"username": "a", "password": {"env": "P"}, "attributes": {"a": [1.5, null]}}\n',
        b'{"rule_id": 1, "match_digest": "^SELECT", "apply": true, "comment": "\\u00e9"}\n\n',
        b'{"username": "", "schemaname": "a", "flagIN": 0, "destination_hostgroup": 1}\n',
    )
    texts = (*files_like("tests/golden/config/jsonl/*.jsonl"), *made)
    return [_with_table(text) for text in texts]


def _row_words() -> Sequence[bytes]:
    marks = rb""", " "" ; \N { } : [ null 1e400""".split()
    return [b"\n", b"\r\n", *marks, *_names()]


def _as_yaml() -> st.SearchStrategy[bytes]:
    return any_files.map(lambda content: json.dumps(content, ensure_ascii=False).encode())


FILE_TARGETS = (
    Target("yaml", _yaml, _yaml_seeds, _yaml_words, _as_yaml),
    Target("template", _template, _template_seeds, _template_words),
    Target("csv", lambda folder: _beside(folder, "csv"), _csv_seeds, _row_words),
    Target("jsonl", lambda folder: _beside(folder, "jsonl"), _jsonl_seeds, _row_words),
    Target("lint", _lint, _yaml_seeds, _yaml_words, _as_yaml),
)
