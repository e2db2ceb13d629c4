"""A large configuration: 10,000 rules in YAML, 50,000 users and 200,000 routes in CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from proxyctl.proxysql.passwords import native_hash

RULES, USERS, ROUTES = 10_000, 50_000, 200_000


def write_files(folder: Path) -> Path:
    """Write the configuration and return the folder of the file to give with -f."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "version: 1",
        "mysql_users: {csv: users.csv}",
        "mysql_query_rules_fast_routing: {csv: routes.csv}",
        "mysql_query_rules:",
    ]
    lines += [rule_line(number) for number in range(1, RULES + 1)]
    (folder / "proxyctl.yaml").write_text("\n".join(lines) + "\n")
    with (folder / "users.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["username", "password", "default_hostgroup", "max_connections", "comment"])
        for number in range(USERS):
            hashed = native_hash(f"password {number}")
            writer.writerow([f"app{number}", hashed, number % 20, 100, f"application {number}"])
    with (folder / "routes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["username", "schemaname", "flagIN", "destination_hostgroup", "comment"])
        for number in range(ROUTES):
            writer.writerow([f"app{number % 500}", f"tenant_{number:06}", 0, number % 20, "tenant"])
    return folder


def rule_line(number: int, *, comment: str = "") -> str:
    """One rule as a line of YAML. The last rule has no apply, so that fast routing stays alive."""
    apply = "false" if number == RULES else "true"
    return (
        f"  - {{rule_id: {number}, username: app{number % 500},"
        f" match_digest: '^SELECT .* FROM table_{number} WHERE id=\\?',"
        f" destination_hostgroup: {number % 20}, apply: {apply},"
        f" comment: rule {number}{comment}}}"
    )


_BEFORE, _AFTER = rule_line(5000), rule_line(5000, comment=" changed")


def change_one_rule(folder: Path) -> None:
    """Change the comment of one rule."""
    _replace(folder, _BEFORE, _AFTER)


def change_back(folder: Path) -> None:
    """Undo `change_one_rule`."""
    _replace(folder, _AFTER, _BEFORE)


def _replace(folder: Path, before: str, after: str) -> None:
    path = folder / "proxyctl.yaml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
