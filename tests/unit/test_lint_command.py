"""The command lint in SARIF, and on an instance; `golden/pages/lint.md` shows the rest."""

from __future__ import annotations

import json

import pytest

from proxyctl.errors import ExitCode
from tests.support.commands.cli import Project, proxyctl

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
    """GitHub refuses all results if one result has no file."""
    project.write("version: 1\nvariables: {mysql-max_connections: 100}\n")
    [run] = proxyctl("lint", "--select", "PX541", "--format", "sarif").json["runs"]
    [result] = run["results"]
    [location] = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "proxyctl.yaml"}}


@pytest.fixture
def wrong(project):
    """A file with a mistake."""
    project.write("mysql_query_rules:\n  - {rule_id: 10, match_digits: a}\n")
    return project


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
    assert [
        finding["where"] for finding in lint("--host", host, "--format", "json").json["findings"]
    ] == [None]


def test_fingerprints_stay_when_lines_move(project):
    def marks():
        [run] = lint("--format", "sarif").json["runs"]
        return [result["partialFingerprints"] for result in run["results"]]

    before = marks()
    project.write(TEXT.replace("mysql_query_rules:", "\n\nmysql_query_rules:"))
    assert marks() == before
