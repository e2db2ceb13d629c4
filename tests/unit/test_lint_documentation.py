"""Each check finds the bad example in its documentation, and nothing in the examples."""

from __future__ import annotations

import re

import pytest

from proxyctl.catalog import Version
from proxyctl.config.files import Sources, load_project
from proxyctl.lint.check import all_checks
from proxyctl.lint.run import lint
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.rows.row import Where
from tests.support.build import layout, rows
from tests.support.commands.cli import proxyctl
from tests.support.paths import ROOT
from tests.unit.config_files import write

CHECKS = {code: check for code, check in all_checks().items() if code != "PX001"}
FOLDERS = sorted(
    {p.parent for d in ("examples", "templates") for p in ROOT.glob(f"{d}/**/*.y*ml*")}
    - {*ROOT.glob("examples/*/.github/workflows")}
    - {path for path in ROOT.glob("examples/kubernetes/**") if path.name != "config"}
)
_EXAMPLE = re.compile(r"```yaml\n(# (Bad|Good).*?)```", re.DOTALL)


@pytest.mark.parametrize("code", CHECKS)
def test_the_examples_of_a_check(code, tmp_path):
    examples = _EXAMPLE.findall(CHECKS[code].documentation)
    assert [kind for _, kind in examples][:1] == ["Bad"]
    assert "Good" in [kind for _, kind in examples]
    for text, kind in examples:
        path = write(tmp_path, text)
        project = load_project(Sources((path,)), takes_dead_rules=True, needs_secrets=False)
        versions = re.findall(r"--backend-version (\S+)", text)
        subject = LintSubject(
            project.configuration, backend_versions=versions, policies=project.policies
        )
        found = lint(subject, [CHECKS[code]]).findings
        assert bool(found) is (kind == "Bad"), text


@pytest.mark.parametrize("code", [code for code, check in CHECKS.items() if check.any_size])
def test_a_check_for_any_size_compiles_no_rule(code, tmp_path, monkeypatch):
    monkeypatch.delattr(LintSubject, "router")
    test_the_examples_of_a_check(code, tmp_path)


ON_PGSQL = [code for code, check in CHECKS.items() if check.pgsql]


@pytest.mark.parametrize("code", ON_PGSQL)
def test_a_check_of_both_sides_finds_its_examples_under_the_names_of_postgresql(code, tmp_path):
    examples = _EXAMPLE.findall(CHECKS[code].documentation)
    own = [(text, kind) for text, kind in examples if "pgsql_" in text]
    for text, kind in own or examples:
        renamed = re.sub(r"\bmysql(?=[_-])", "pgsql", text).replace("schemaname", "database")
        if not own:
            renamed = f"proxysql_version: 3.0.3\n{renamed}"
        path = write(tmp_path, renamed)
        project = load_project(Sources((path,)), takes_dead_rules=True, needs_secrets=False)
        report = lint(LintSubject(project.configuration), [CHECKS[code]])
        assert bool(report.findings) is (kind == "Bad"), renamed
        for located in report.findings:
            finding = located.finding
            assert finding.table.startswith("pgsql_")
            words = f"{finding.key} {finding.column} {finding.message} {finding.fix}"
            assert not re.search("mysql|schema|LOCK IN SHARE", words)


@pytest.mark.parametrize("code", all_checks())
def test_the_documentation_of_a_check(code):
    check = all_checks()[code]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", check.name)
    assert check.summary.endswith(".")
    assert len(check.documentation.split("\n\n")) > 2


@pytest.mark.parametrize(
    "line", ["lint --explain PX501", "lint --explain PX504", "lint --format sarif"]
)
def test_links_are_words_outside_the_pages(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "mysql_users: [{username: app, password: x}]\n")
    shown = proxyctl(*line.split()).out
    assert "](.." not in shown
    pages = {*re.findall(r"\((docs/\S+\.md)\)", shown)}
    assert pages == {"docs/how-to/renumber-hostgroups.md"}
    assert all((ROOT / page).is_file() for page in pages)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_examples_and_templates_have_no_error_and_no_warning(folder):
    project = load_project(Sources((str(folder),)), takes_dead_rules=True, needs_secrets=False)
    subject = LintSubject(project.configuration)
    bad = [check for check in CHECKS.values() if check.code >= "PX3" and check.severity != "note"]
    assert [(check.code, finding) for check in bad for finding in check.find(subject)] == []


def test_an_instance_is_no_file():
    held = ConfigTable(
        layout("mysql_users"), rows("mysql_users", {"username": "a", "password": "b"})
    )
    configuration = Configuration(
        Version(2, 7, 1), {"mysql_users": held}, {"mysql-monitor_password": "x"}
    )
    assert list(all_checks()["PX531"].find(LintSubject(configuration))) == []


def test_a_user_in_no_file_hides_no_password_of_the_files():
    users = ({"username": name, "password": "b"} for name in ("a", "b"))
    held = ConfigTable(layout("mysql_users"), rows("mysql_users", *users))
    configuration = Configuration(
        Version(2, 7, 1),
        {"mysql_users": held},
        place=lambda _table, key, _column: Where("x.yaml", 1, 1) if key[0] == "b" else None,
    )
    (found,) = all_checks()["PX531"].find(LintSubject(configuration))
    assert found.key == ("b", 1)


def test_a_backend_whose_version_cannot_be_read_is_passed_over():
    running = Configuration(Version(2, 7, 1), {}, {"mysql-server_version": "8.0.36"})
    found = all_checks()["PX541"].find(LintSubject(running, backend_versions=["what"]))
    assert list(found) == []
