"""rollback and snapshot show no secret, and leave alone what was left out."""

from __future__ import annotations

import shutil

import pytest

from tests.journeys.layers import everything, everywhere
from tests.journeys.story import FILES, applied, rolled_back, said
from tests.support.cli import SECRETS, Project, proxyctl
from tests.support.servers import Instance

REFERENCES = """\
version: 1
variables: {mysql-monitor_password: {env: APP_PASSWORD}}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, comment: {env: APP_PASSWORD}}
  - {username: leaves, password: {env: OTHER_PASSWORD}}
scheduler:
  - {id: 1, active: 0, interval_ms: 1000, filename: /bin/true, arg1: {env: OTHER_PASSWORD}}
"""


def test_no_secret_is_shown(project: Project, instance: Instance) -> None:
    project.write(REFERENCES)
    applied()
    swapped = REFERENCES.replace("APP_", "X_").replace("OTHER_", "APP_").replace("X_", "OTHER_")
    project.write(
        swapped + "  - {id: 2, active: 0, interval_ms: 9999, filename: a, arg1: "
        "{env: APP_PASSWORD}}\n"
    )
    applied()
    for arguments in (
        ("rollback", "--dry-run"),
        ("rollback", "--dry-run", "--format", "json"),
        ("rollback", "--auto-approve", "--debug"),
        ("rollback", "--auto-approve", "--format", "json"),
        ("snapshot", "--format", "json"),
        ("history",),
        ("history", "--format", "json"),
    ):
        found = proxyctl(*arguments)
        assert found.code == 0, found.text
        assert not any(secret in found.text for secret in SECRETS.values()), arguments


@pytest.mark.parametrize("known_from", ["the files", "an earlier snapshot"])
def test_a_snapshot_by_hand_hides_what_came_by_a_reference(
    project: Project, instance: Instance, known_from: str
) -> None:
    """It is shown where it does not stand any more, without files and other snapshots there."""
    project.write(REFERENCES)
    applied()
    if known_from == "the files":
        shutil.rmtree(project.state)
    else:
        project.write(REFERENCES.replace("1000", "2000"))
        applied("--snapshots-kept", "1")
        (project.folder / "proxyctl.yaml").unlink()
    assert proxyctl("snapshot", "-o", "by-hand.json").code == 0
    (project.folder / "proxyctl.yaml").unlink(missing_ok=True)
    shutil.rmtree(project.state, ignore_errors=True)
    instance.execute("DELETE FROM scheduler")
    instance.execute("LOAD SCHEDULER TO RUNTIME")
    instance.execute("SAVE SCHEDULER TO DISK")
    for arguments in (("--dry-run",), ("--dry-run", "--format", "json"), ("--auto-approve",)):
        found = proxyctl("rollback", "by-hand.json", *arguments)
        assert found.code == 0, found.text
        assert "/bin/true" in found.out
        assert not any(secret in found.text for secret in SECRETS.values()), found.text
    arguments = everywhere(instance, "SELECT arg1 FROM {}scheduler")
    assert arguments == [(SECRETS["OTHER_PASSWORD"],)]


def test_a_snapshot_by_hand_is_taken_whatever_is_wrong_in_the_files(project: Project) -> None:
    project.write("version: 1\nscheduler: [{id: x}]\n")
    found = proxyctl("snapshot", "-o", "by-hand.json")
    assert found.code == 0, found.text
    assert "warning: the files have mistakes" in found.err
    assert (project.folder / "by-hand.json").exists()


@pytest.mark.since("2.6.0", "RUNTIME shows a clear password as its hash")
def test_secrets_that_were_left_out_are_left_alone(project: Project, instance: Instance) -> None:
    project.write(REFERENCES)
    applied()
    changed = REFERENCES.replace("/bin/true", "/bin/false").replace(
        "username: app, password: {env: APP_PASSWORD}",
        "username: app, password: new, active: false",
    )
    project.write(changed)
    done = applied("--snapshot-secrets", "omit")
    assert "The state before, without its passwords, is kept in" in done.out
    newest = project.snapshots()[-1].read_text()
    assert not any(secret in newest for secret in SECRETS.values())
    assert '{"omitted": true}' in newest
    found = rolled_back()
    assert "left alone   mysql_users: secrets of 2 rows" in found.out
    assert everywhere(instance, "SELECT filename, arg1 FROM {}scheduler") == [
        ("/bin/true", SECRETS["OTHER_PASSWORD"])
    ]
    users = "SELECT DISTINCT password, active FROM {}mysql_users WHERE username='app'"
    assert everywhere(instance, users) == [("new", "1")]


def test_secrets_that_were_left_out_are_told_of_what_goes_back_only(project: Project) -> None:
    project.write(REFERENCES)
    applied()
    project.write(
        REFERENCES.replace("1000", "2000").replace(
            "username: app,", "username: app, active: false,"
        )
    )
    applied("--snapshot-secrets", "omit")
    found = proxyctl("rollback", "--dry-run", "--only", "SCHEDULER")
    assert "scheduler: secrets of 1 row" in found.out
    assert "mysql_users" not in found.out
    found = proxyctl("rollback", "--dry-run")
    assert "mysql_users: secrets of 2 rows" in found.out


def test_a_user_whose_password_was_left_out_cannot_come_back(
    project: Project, instance: Instance
) -> None:
    project.write(REFERENCES)
    applied()
    kept = [line for line in REFERENCES.splitlines() if "leaves" not in line]
    project.write("\n".join(kept).replace("1000", "2000"))
    applied("--snapshot-secrets", "omit")
    before = everything(instance)
    found = proxyctl("rollback", "--auto-approve")
    said(found, 3, "mysql_users leaves:1 is gone", "create it with files or by hand first")
    assert everything(instance) == before
    rolled_back("--only", "SCHEDULER")
    assert everywhere(instance, "SELECT interval_ms FROM {}scheduler") == [("1000",)]


def test_the_environment_may_ask_to_leave_secrets_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_SNAPSHOT_SECRETS", "omit")
    monkeypatch.setenv("PROXYCTL_SNAPSHOTS_KEPT", "2")
    for weight in (1, 2, 3):
        project.write(FILES.replace("weight: 1}", f"weight: {weight}}}"))
        applied()
    assert len(project.snapshots()) == 2
    texts = "".join(path.read_text() for path in project.snapshots())
    assert not any(secret in texts for secret in SECRETS.values())
