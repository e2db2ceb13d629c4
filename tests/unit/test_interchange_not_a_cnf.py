"""Texts inside of other files, and files that are no proxysql.cnf: what `import` makes of them."""

from __future__ import annotations

from base64 import b64encode

import pytest

from proxyctl.config.yaml import read_foreign_yaml
from proxyctl.errors import ConfigError
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.interchange.embedded import EmbeddedFile, embedded_file
from proxyctl.interchange.not_a_cnf import holds_cnf, looks_like_yaml

CNF = 'mysql_servers=( { address="a" hostgroup=0 } )\n'


def found(source: str) -> EmbeddedFile:
    return embedded_file(read_foreign_yaml(source, "a.yaml"), source, holds_cnf, name="p.cnf")


def answer(text: str) -> str:
    """The first line of the error of a file that import refuses."""
    with pytest.raises(ConfigError) as caught:
        read_cnf(text, "a.cnf")
    return caught.value.lines()[0]


@pytest.mark.parametrize(
    ("source", "line", "indent"),
    [
        (f"data:\n  a.cnf: |\n    {CNF}", 3, 4),
        (f"data:\n  a.cnf: |-\n    {CNF}", 3, 4),
        (f"data:\n  a.cnf: |+ # kept\n    {CNF}\n", 3, 4),
        (f"data:\n  a.cnf: |2\n      {CNF}", 3, 4),
        (f"data:\n  a.cnf: |\n\n\n   {CNF}", 3, 3),
        (f"data:\r\n  a.cnf: |\r\n    {CNF}", 3, 4),
        (f"---\na: 1\n---\n- - b: |\n     {CNF}", 5, 5),
    ],
)
def test_a_literal_block_has_the_lines_of_the_file(source: str, line: int, indent: int) -> None:
    embedded = found(source)
    assert embedded.is_literal
    assert (embedded.line, embedded.column, embedded.indent) == (line, indent + 1, indent)
    assert embedded.text.strip() == CNF.strip()


@pytest.mark.parametrize(
    "source",
    [
        f"a: {CNF!r}",
        f"a: >\n  {CNF}",
        f'{{"kind": "Secret", "data": {{"a": "{b64encode(CNF.encode()).decode()}"}}}}',
        f"a: &x |\n  {CNF}",
    ],
)
def test_another_text_is_read_without_lines_of_the_file(source: str) -> None:
    embedded = found(source)
    assert not embedded.is_literal
    assert embedded.line == 1
    assert "mysql_servers=(" in embedded.text


def test_base64_counts_only_in_a_secret_and_in_binary_data() -> None:
    encoded = b64encode(CNF.encode()).decode()
    assert found(f"kind: ConfigMap\nbinaryData: {{a: {encoded}}}").text == CNF
    for source in (f"data: {{a: {encoded}}}", f"kind: ConfigMap\ndata: {{a: {encoded}}}"):
        with pytest.raises(ConfigError, match="1 mistake"):
            found(source)


def test_the_same_text_twice_is_one_text() -> None:
    assert found(f"a: |\n  {CNF}b: |\n  {CNF}").line == 2


def test_files_of_proxyctl_hold_no_cnf() -> None:
    assert not holds_cnf("mysql_servers:\n  - {hostgroup_id: 0, hostname: a}\n")
    assert holds_cnf("# x\n  mysql_servers :\n(\n")


@pytest.mark.parametrize(
    ("text", "is_yaml"),
    [
        ("# x\n\napiVersion: v1\n", True),
        ("---\n", True),
        ("- hosts: a\n", True),
        ('{"a": 1}', True),
        ("services:\n  a:\n", True),
        ("mysql_servers:\n(", False),
        ('datadir: "x"', False),
        ("[mysqld]\n", False),
    ],
)
def test_yaml_is_recognised_by_its_beginning(text: str, is_yaml: bool) -> None:
    assert looks_like_yaml(text, "a.cnf") is is_yaml


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{{- if .Values.web }}", "a Helm template"),
        ('{{ include "x" . }}', "a Helm template"),
        ("{{ end }}", "a Go template"),
        ('{{ env "X" }}', "a Go template"),
        ("{{/* why */}}", "a Go template"),
        ("{{ threads | default(4) }}", "a Jinja2 template"),
        ("{% if a %}", "a Jinja2 template"),
        ("<% if a %>", "an ERB template"),
        ("%{ if a }", "a template of a shell or of Terraform"),
        ("${A}", "a template of a shell or of Terraform"),
    ],
)
def test_languages_of_templates(line: str, expected: str) -> None:
    assert (
        answer(f"# x\n{CNF}{line}\n") == f"a.cnf:3:1: {expected}, which is not yet a proxysql.cnf"
    )


def test_a_comment_makes_no_template() -> None:
    imported = read_cnf(f"# {{{{ managed }}}}\n{CNF}", "a.cnf")
    assert imported.content.tables["mysql_servers"]
    assert "template" not in answer(f"# {{{{ managed }}}}\n{CNF}x=")


def test_a_placeholder_in_a_password_is_not_repeated() -> None:
    text = 'mysql_users=( { username="u{{ a }}" password="hunter2{{ b }}" } )'
    with pytest.raises(ConfigError) as caught:
        read_cnf(text, "a.cnf")
    places = [(mistake.column, mistake.key) for mistake in caught.value.mistakes]
    assert places == [(26, "username"), (46, "password")]
    assert "hunter2" not in "".join(caught.value.lines())


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (f"cat <<A\n{CNF}A\n", "2,2"),
        (f"cat <<-'A' > x\n{CNF}{CNF}\tA\n", "2,3"),
        (f"user_data = <<OUTER\ncat <<A\n{CNF}A\nOUTER\n", "3,3"),
        (f'echo $((1 << n))\ncat << "A"\n{CNF}A\n', "3,3"),
        (f"cat <<B\nnothing\nB\ncat <<A\n{CNF}A\n", "5,5"),
        (f"cat <<'A'\n{CNF}#$x\nA\n", "2,3"),
    ],
)
def test_a_heredoc_is_cut_out(script: str, lines: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_cnf(script, "a b.sh")
    fix = f"run `sed -n '{lines}p' 'a b.sh' > proxysql.cnf`, and import that file"
    assert caught.value.mistakes[0].fix == fix


@pytest.mark.parametrize("written", ["$x", "`x`", "\\\\d", "%{ x }"])
def test_a_heredoc_that_the_script_changes_is_not_cut_out(written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_cnf(f"cat <<A\n{CNF}#{written}\nA\n", "a.sh")
    assert "import the file that the script writes" in str(caught.value.mistakes[0].fix)
