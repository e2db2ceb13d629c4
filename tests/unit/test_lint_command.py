"""The command lint: places, formats, exit codes, and what is ignored."""

from __future__ import annotations

import json

import pytest

from proxyctl.errors import ExitCode
from tests.support.cli import Project, proxyctl
from tests.unit.linted import SPLIT

TEXT = """version: 1
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT', destination_hostgroup: 2, apply: 1}
  - {rule_id: 20, match_digest: '^SELECT .* FROM sbtest1', destination_hostgroup: 1, apply: 1}
"""
ONLY = ("--select", "PX1", "--select", "PX2", "--select", "PX001")


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = Project(tmp_path, monkeypatch)
    made.write(TEXT)
    return made


def lint(*arguments):
    return proxyctl("lint", *ONLY, *arguments)


def ignoring(project, entries):
    project.write(f"{TEXT}lint:\n  ignore:\n" + "".join(f"    - {entry}\n" for entry in entries))


def test_findings_stand_in_order_with_their_place(project):
    found = lint()
    assert found.out == (
        "proxyctl.yaml:4:5: PX201 [error] rule 20: never reached: rule 10 matches all its queries"
        " first, and has apply\n"
        "  fix: give it a rule_id below 10, or remove it\n"
        "proxyctl.yaml:4:33: PX109 [warning] rule 20: match_digest matches `sbtest1`, and"
        " `sbtest10` too\n"
        "  fix: write sbtest1\\b\n"
        "1 error, 1 warning.\n"
    )
    assert found.code == ExitCode.ERROR


def test_only_an_error_fails_unless_strict(project):
    assert lint("--ignore", "PX201").code == ExitCode.DONE
    assert lint("--ignore", "PX201", "--strict").code == ExitCode.ERROR
    nothing = lint("--ignore", "PX201", "--ignore", "longer-names", "--strict")
    assert (nothing.code, nothing.out[:13]) == (ExitCode.DONE, "Nothing found")


def test_a_code_its_beginning_or_a_name_selects(project):
    assert "PX109" not in proxyctl("lint", "--select", "PX2").out
    assert "PX109" in proxyctl("lint", "--select", "longer-names").out
    wrong = proxyctl("lint", "--select", "shadowed-rulez")
    assert wrong.code == ExitCode.USAGE
    assert "did you mean 'shadowed-rule'?" in wrong.err


def test_the_files_may_ignore_a_check_or_a_row(project):
    row = "{code: PX109, table: mysql_query_rules, key: 20, because: one table}"
    ignoring(project, ["PX201", row])
    assert lint().out.endswith("Nothing found, 2 ignored.\n")
    assert lint().code == ExitCode.DONE


def test_an_ignored_row_leaves_the_other_rows_of_a_finding(project):
    more = "  - {{rule_id: {}, match_digest: '^SELECT b', destination_hostgroup: 3, apply: {}}}\n"
    text = TEXT + more.format(30, 1) + more.format(40, 0)
    project.write(text)
    assert "rule 20: never reached" in lint().out
    assert "has apply (also rules 30, 40)" in lint().out
    entry = "{{code: PX201, table: mysql_query_rules, key: {}}}"
    entries = "".join(f"    - {entry.format(key)}\n" for key in (20, 40))
    project.write(f"{text}lint:\n  ignore:\n{entries}")
    found = lint("--format", "json").json["findings"]
    assert [(one["key"], one["also"]) for one in found if one["code"] == "PX201"] == [([30], [])]
    assert "PX001" not in lint().out


def test_an_ignore_that_ignores_nothing_is_noted(project):
    ignoring(project, ["{code: PX109, table: mysql_query_rules, key: 10}", "PX201"])
    out = lint().out
    assert "proxyctl.yaml:7:7: PX001 [note] PX109 mysql_query_rules 10 ignores nothing\n" in out
    assert out.count("PX001") == 1
    # Nothing is said of a check that did not run.
    assert "PX001" not in proxyctl("lint", "--select", "PX0", "--select", "PX2").out


def test_an_ignore_of_what_a_graver_finding_says_is_used(project):
    rule = "{rule_id: 9, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}"
    project.write(f"{SPLIT}mysql_query_rules: [{rule}]\nlint: {{ignore: [PX302]}}\n")
    out = proxyctl("lint", "--select", "PX3", "--select", "PX001").out
    assert "PX301" in out
    assert "PX302" not in out
    assert "PX001" not in out


@pytest.mark.parametrize(
    ("entry", "mistake"),
    [
        ("PX999", "`proxyctl lint --list` shows all checks"),
        ("PX310", "did you mean 'PX311'?"),
        ("{code: shadowed-rul}", "did you mean 'shadowed-rule'?"),
        ("{code: PX201, table: mysql_query_rule}", "did you mean 'mysql_query_rules'?"),
        ("{code: PX201, key: 20}", "add `table:`"),
        ("{code: PX201, table: mysql_query_rules, key: [1, 2]}", "the key of mysql_query_rules is"),
        ("{codes: PX201}", "lint.ignore[0]"),
        ("12", "lint.ignore[0]"),
    ],
)
def test_a_wrong_ignore_is_a_mistake_of_the_files(project, entry, mistake):
    ignoring(project, [entry])
    for command in ("lint", "validate"):
        found = proxyctl(command)
        assert found.code == ExitCode.ERROR
        assert "proxyctl.yaml:7:" in found.err
        assert mistake in found.err


def test_json(project):
    document = lint("--format", "json").json
    assert document["counts"] == {"error": 1, "warning": 1, "note": 0}
    assert document["findings"][0] == {
        "code": "PX201",
        "check": "shadowed-rule",
        "severity": "error",
        "table": "mysql_query_rules",
        "key": [20],
        "also": [],
        "column": None,
        "message": "never reached: rule 10 matches all its queries first, and has apply",
        "fix": "give it a rule_id below 10, or remove it",
        "where": "proxyctl.yaml:4:5",
        "origin": None,
    }


def test_github(project):
    assert lint("--format", "github", "--select", "PX201").out.startswith(
        "::error file=proxyctl.yaml,title=PX201 shadowed-rule,line=4,col=5::never reached: rule 10"
    )


def test_sarif_has_what_the_standard_demands(project):
    document = lint("--format", "sarif", "-f", str(project.folder / "proxyctl.yaml")).json
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    [run] = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "proxyctl"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert [result["ruleId"] for result in run["results"]] == ["PX201", "PX109"]
    marks = set()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        [location] = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "proxyctl.yaml"
        assert location["physicalLocation"]["region"]["startLine"] == 4
        assert location["physicalLocation"]["region"]["startColumn"] >= 1
        [logical] = location["logicalLocations"]
        assert logical["fullyQualifiedName"] == "rule 20"
        marks.add(json.dumps(result["partialFingerprints"]))
    assert len(marks) == 2


def test_what_no_row_of_a_file_holds_has_the_file_in_sarif(project):
    """GitHub refuses all results if one has no file."""
    project.write("version: 1\nvariables: {mysql-max_connections: 100}\n")
    [run] = proxyctl("lint", "--select", "PX541", "--format", "sarif").json["runs"]
    [result] = run["results"]
    [location] = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "proxyctl.yaml"}}


def test_a_check_explains_itself(project):
    found = proxyctl("lint", "--explain", "px201")
    assert found.code == ExitCode.DONE
    assert found.out.startswith("PX201 shadowed-rule [error]\n\nA rule that no query reaches")
    assert "# Bad" in found.out
    listed = proxyctl("lint", "--list", "--select", "PX20").out.splitlines()
    assert [line.split()[0] for line in listed][:2] == ["PX201", "PX202"]
    assert proxyctl("lint", "--explain", "nonsense").code == ExitCode.USAGE


@pytest.fixture
def wrong(project):
    """A file that cannot be looked at."""
    project.write("mysql_query_rules:\n  - {rule_id: 10, match_digits: a}\n")
    return project


def test_github_sees_the_mistakes_of_the_files(wrong):
    found = lint("--format", "github")
    assert found.out.startswith("::error file=proxyctl.yaml,title=wrong file,line=2,col=19::")
    assert "match_digest" in found.out
    assert found.code == ExitCode.ERROR
    assert "1 mistake in the files" in found.err


def test_sarif_has_the_mistakes_of_the_files(wrong):
    found = lint("--format", "sarif", "-f", str(wrong.folder / "proxyctl.yaml"))
    [run] = found.json["runs"]
    [result] = run["results"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    [note] = invocation["toolConfigurationNotifications"]
    assert note["message"] == result["message"]
    [location] = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "proxyctl.yaml"
    assert location["physicalLocation"]["region"]["startLine"] == 2
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert found.code == ExitCode.ERROR


def test_patterns_that_validate_refuses_are_findings_here(project):
    row = "  - {rule_id: 10, match_digest: 'SELECT(', client_addr: '%'}\n"
    other = "  - {rule_id: 20, match_digest: 'SELECT', client_addr: '1%1'}\n"
    project.write(f"mysql_query_rules:\n{row}{other}")
    assert proxyctl("validate").code == ExitCode.ERROR
    found = lint()
    assert "PX101" in found.out
    assert "PX122" in found.out


def test_an_instance(project, sandbox_instance):
    project.connect(sandbox_instance)
    assert proxyctl("apply", "--auto-approve").code == ExitCode.DONE
    host = sandbox_instance.host
    address = f"{host}:{sandbox_instance.port}"
    found = lint("--host", host)
    first = f"{address}: rule 20: PX201 [error] never reached: rule 10"
    assert first in found.out
    assert found.code == ExitCode.ERROR
    # What the files ignore is ignored there as well.
    ignoring(project, ["PX2"])
    assert "PX201" not in lint("--host", host).out
    [run] = lint("--host", host, "--format", "sarif").json["runs"]
    [location] = run["results"][0]["locations"]
    assert list(location) == ["logicalLocations"]


@pytest.mark.parametrize("version", ["MariaDB", "8", ""])
def test_the_version_of_a_backend_has_to_be_one(project, version):
    wrong = lint("--backend-version", version)
    assert wrong.code == ExitCode.USAGE
    assert f"--backend-version {version!r} is no version" in wrong.err


@pytest.mark.parametrize("command", [("lint",), ("explain", "SELECT 1")])
def test_files_have_no_layers(project, command):
    wrong = proxyctl(*command, "--layer", "memory")
    assert wrong.code == ExitCode.USAGE
    assert "--layer memory: files have no layers" in wrong.err


def test_fingerprints_stay_when_lines_move(project):
    def marks():
        [run] = lint("--format", "sarif").json["runs"]
        return [result["partialFingerprints"] for result in run["results"]]

    before = marks()
    project.write(TEXT.replace("mysql_query_rules:", "\n\nmysql_query_rules:"))
    assert marks() == before


def test_the_password_of_an_instance_in_clear_text(project, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    instance = "  - {{name: {name}, host: 10.0.0.1, user: u, password: {password}}}\n"
    names = {"a": "sesame", "b": "{env: NOWHERE}", "c": "{env: HOME}"}
    text = "".join(instance.format(name=n, password=p) for n, p in names.items())
    project.write(f"instances:\n{text}")
    found = proxyctl("lint", "--select", "PX531").out
    assert found == (
        "proxyctl.yaml:2:5: PX531 [warning] a: the password of this instance is in clear text\n"
        "  fix: write password: {env: NAME} or {file: PATH}\n"
        "1 warning.\n"
    )


def test_the_list_of_checks_as_json(project):
    document = proxyctl("lint", "--list", "--select", "PX201", "--format", "json").json
    assert document == {
        "format": 1,
        "checks": [
            {
                "code": "PX201",
                "check": "shadowed-rule",
                "severity": "error",
                "summary": "A rule that no query reaches, since an earlier rule with apply takes"
                " them all.",
            }
        ],
    }
    assert proxyctl("lint", "--list", "--format", "sarif").code == ExitCode.USAGE
