"""A proxysql.cnf, read and imported."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError, ExitCode
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.interchange.cnf_sections import SECTIONS, STARTUP_KEYS, VARIABLE_SECTIONS
from tests.properties.fuzz.target import Run, Target, files_like
from tests.support.commands.cli import proxyctl


@contextmanager
def _read(_folder: Path) -> Iterator[Run]:
    def run(data: bytes) -> None:
        found = read_cnf(data.decode("utf-8", "surrogateescape"), "a.cnf").content
        for name, layout in found.layouts.items():
            assert all(len(row) == len(layout.columns) for row in found.tables[name]), name

    yield run


@contextmanager
def _imported(folder: Path) -> Iterator[Run]:
    """Return a function that runs `import` and checks the file that it wrote."""
    cnf, written = folder / "proxysql.cnf", folder / "proxyctl.yaml"

    def run(data: bytes) -> None:
        cnf.write_bytes(data)
        outcome = proxyctl("import", str(cnf), "-o", str(written), "--debug")
        if outcome.code == ExitCode.DONE and "the file will be refused" not in outcome.err:
            load_without_mistakes(written)

    yield run


def load_without_mistakes(path: Path) -> None:
    """Load a file that `import` wrote."""
    try:
        load_project(Sources((str(path),)), needs_secrets=False)
    except ConfigError as error:
        raise AssertionError("\n".join(error.lines())) from error


def _seeds() -> Sequence[bytes]:
    made = (
        b'datadir="/var/lib/proxysql"\nadmin_variables={ admin_credentials="a:b" }\n'
        b'mysql_servers=( { address="a" port=3306 hostgroup=0 comment="it\'s" } )\n',
        b'mysql_query_rules: ( { rule_id = 1; match_pattern = "^SELECT \\x41\\"" "b" } );\n'
        b"/* x */ // y\n# z\n",
        b"a=[1,2,3]; b=(1,(2,),{c=1L}); d=0xFFFFFFFFFF; e=1.5e9; f=-017; g=TRUE\n",
    )
    return [*files_like("**/*.cnf"), *made]


def _words() -> Sequence[bytes]:
    columns = {column.name for table in TABLES.values() for column in table.columns}
    names = {*SECTIONS, *VARIABLE_SECTIONS, *STARTUP_KEYS, *columns}
    names |= {name.partition("-")[2] for name in list(VARIABLES)[::5]}
    marks = (
        *(b"=", b":", b";", b",", b"(", b")", b"{", b"}", b"[", b"]", b'"', b'"a"', b"/*", b"*/"),
        *(b"//", b"#", b"@include", b"\\x", b"\\xe9", b"\\n", b"1L", b"."),
        *(b"0x", b"018", b"1e5", b"true", b"= ( { ", b" } )", b"={", b"-2147483649", b"4294967296"),
    )
    return [*marks, *(name.encode() + b" = " for name in names)]


def _structured() -> st.SearchStrategy[bytes]:
    """Return files with valid sections, and values that are mostly valid."""
    plain = st.sampled_from(
        ['""', '"a"', '"b\'"', '"c\\"d"', '"\\x00"', '"\\xe9"', '"%"', '"ONLINE"']
    )
    numbers = st.integers(-1, 5).map(str) | st.integers().map(str) | st.just("0x10")
    value = plain | numbers | st.sampled_from(["true", "1.5", "()", "{}", "[1, 2]", '"(" ")"'])

    def entry(name: str) -> st.SearchStrategy[str]:
        section = SECTIONS[name]
        fields = {}
        for column in TABLES[section.table].columns:
            right = numbers if column.is_numeric else plain
            fields[section.keys_of(column.name)[0]] = right if column.is_required else right | value
        required = {
            section.keys_of(column.name)[0]
            for column in TABLES[section.table].columns
            if column.is_required
        }
        return st.fixed_dictionaries(
            {key: fields[key] for key in sorted(required)},
            optional={key: fields[key] for key in sorted(fields.keys() - required)},
        ).map(lambda drawn: "{ " + "; ".join(f"{k} = {v}" for k, v in drawn.items()) + " }")

    sections = st.sampled_from(sorted(SECTIONS)).flatmap(
        lambda name: st.lists(entry(name), max_size=4).map(
            lambda entries: f"{name} = (\n  " + ",\n  ".join(entries) + "\n)\n"
        )
    )
    names = sorted(name for name in VARIABLES if name.startswith(("mysql-", "admin-")))
    variables = st.lists(st.tuples(st.sampled_from(names), value), max_size=4).map(
        lambda pairs: "".join(
            f"{prefix}_variables = {{\n"
            + "".join(
                f"  {name.partition('-')[2]} = {given}\n"
                for name, given in dict(pairs).items()
                if name.startswith(prefix)
            )
            + "}\n"
            for prefix in ("mysql", "admin")
        )
    )
    return st.lists(sections | variables, max_size=3).map(lambda parts: "".join(parts).encode())


def _foreign_seeds() -> Sequence[bytes]:
    """Return files that hold a proxysql.cnf, or become one."""
    cnf = b'mysql_servers=( { address="a" hostgroup=0 comment="{{ x }}" port=${P} } )'
    made = (
        b"kind: ConfigMap\r\ndata:\r\n  a.cnf: |2-\r\n    " + cnf + b"\r\n---\r\n&a [*a]\r\n",
        b"kind: Secret\ndata: {a: " + b64encode(cnf) + b"}\n",
        b"- copy:\n    content: >+\n        " + cnf + b"\n\n",
        b'{"items": [{"kind": "ConfigMap", "binaryData": {"a": "' + b64encode(cnf) + b'"}}]}',
        b"{{- if .Values.a }}\n" + cnf + b"\n{% if a %}<% end %>\n",
        b"cat <<A\ncat <<-'B' > c\n" + cnf + b"\nB\nA\n",
        b"services: {}\nconfigs: {a: {content: '" + cnf + b"'}}\n",
    )
    return [*files_like("tests/golden/import/a*/*.y*ml"), *made]


def _foreign_words() -> Sequence[bytes]:
    yaml = (b"data:", b"kind: Secret", b": |\n  ", b": >-", b"---\n", b"&a ", b"*a", b"!t ", b"- ")
    return [
        *yaml,
        b"{{ ",
        b" }}",
        b"{%",
        b"%>",
        b"<<A\n",
        b"\nA\n",
        b"${B}",
        b"\n[a]",
        *_words()[:20],
    ]


IMPORT_TARGETS = (
    Target("cnf", _read, _seeds, _words, _structured),
    Target("import", _imported, _seeds, _words, _structured),
    Target("foreign", _imported, _foreign_seeds, _foreign_words),
)
