"""The accounts of a server -> the file that an earlier import wrote, for a schedule.

Rows are compared and written as the YAML has them, not as rows of a table: a name of a hostgroup,
a reference and a column of a newer ProxySQL stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import yaml

from proxyctl.catalog import Version
from proxyctl.config.context import named_version, split
from proxyctl.config.documents import is_there, unreadable_file
from proxyctl.config.files import mistakes_in
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sources import UnreadableError, read_text
from proxyctl.config.yaml import Document, YamlList, YamlMap, read_yaml
from proxyctl.errors import RefusedError
from proxyctl.instance.backend_accounts import BackendAccount
from proxyctl.interchange.content import FileContent
from proxyctl.interchange.import_users import imported_content, undecided_users
from proxyctl.interchange.write import written_file
from proxyctl.interchange.yaml import quoted
from proxyctl.rows.desired import GuardLimits
from proxyctl.text import counted

_TABLE = "mysql_users"

_SECTIONS = frozenset(["version", "proxysql_version", _TABLE])
"""The sections that the file may have: others would be lost."""


# The file ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UsersFile:
    """A file with users and nothing else."""

    path: str
    """The file."""
    text: str | None = None
    """Its text; None if there is no file yet."""
    header: tuple[str, ...] = ()
    """The comments above the first section."""
    version: Version | None = None
    """The ProxySQL that it names."""
    rows: Mapping[str, YamlMap] = field(default_factory=dict)
    """Its rows as the YAML has them, by user."""


def read_users_file(path: str) -> UsersFile:
    """Return the file, without rows if there is none.

    Raises: ConfigError; ProxyctlError; RefusedError where an update would lose a part of it.
    """
    if not is_there(path):
        return UsersFile(path)
    mistakes = Mistakes()
    try:
        text = read_text(path)
    except UnreadableError as error:
        raise unreadable_file(path, error.message, fix=error.fix, option="--update") from None
    document = read_yaml(text, path, mistakes)
    sections = split([document] if document else [], mistakes)
    version = named_version(sections.get("proxysql_version", []), mistakes)
    mistakes.raise_if_any()
    others = sorted(sections.keys() - _SECTIONS)
    if document is None or others or _TABLE not in sections:
        found = f"has the section {others[0]}" if others else f"has no section {_TABLE}"
        fix = f"give {_TABLE} a file of its own: --update FILE writes a new file"
        raise RefusedError(f"{path}: {found}, but --update rewrites the whole file", fix=fix)
    header = tuple(takewhile(_is_comment, text.splitlines()))
    _refuse_comments(path, text, len(header))
    return UsersFile(path, text, header, version, _rows(document, sections[_TABLE][0].value))


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _refuse_comments(path: str, text: str, header: int) -> None:
    """Refuse a comment below the header, which an update would lose. Raises: RefusedError."""
    end = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader) if "#" in text else ():
        gap = text[end : token.start_mark.index]
        place = text.count("\n", 0, end + gap.find("#"))
        if "#" in gap and place >= header:
            message = f"{path}:{place + 1}: a comment, which --update would lose"
            fix = "move it to the top of the file, or into the column `comment` of the user"
            raise RefusedError(message, fix=fix)
        end = token.end_mark.index


def _rows(document: Document, listed: YamlList | YamlMap) -> dict[str, YamlMap]:
    """Return the rows by user. Raises: RefusedError where a row is no user of its own."""
    rows: dict[str, YamlMap] = {}
    for position, row in enumerate(listed if isinstance(listed, YamlList) else [None]):
        user = row.get("username") if isinstance(row, YamlMap) else None
        if isinstance(row, YamlMap) and isinstance(user, str) and user not in rows:
            rows[user] = row
            continue
        where = document.where((_TABLE, position))
        message = f"{where}: --update needs rows that each name a different user"
        raise RefusedError(message, fix="write one row for each user: {username: NAME, ...}")
    return rows


# The update --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpdatedUsers:
    """A file of users as it is and as it should be."""

    path: str
    """The file."""
    before: str | None
    """Its text; None if there is no file yet."""
    text: str
    """The text that it should have."""
    added: tuple[str, ...]
    """The users that it lacks."""
    changed: tuple[str, ...]
    """The users that have another password."""
    removed: tuple[str, ...]
    """The users that are no longer imported."""
    warnings: tuple[str, ...]
    """The accounts that are left out, and those that need more than a user."""

    @property
    def is_changed(self) -> bool:
        """Whether the file has to be written."""
        return self.text != self.before


def update(
    file: UsersFile,
    accounts: Sequence[BackendAccount],
    *,
    version: Version | None,
    default_hostgroup: int,
    has_passwords: bool = True,
) -> UpdatedUsers:
    """Return the file with the accounts of a server, sorted by name.

    A user who is in the file keeps its row; only a password that the row itself holds follows the
    server. A user whose open accounts become no user keeps all of its row. `version`: by default
    the one that the file names. `default_hostgroup`: of new users. `has_passwords`: False neither
    writes nor changes a password.

    Raises: RefusedError where no account becomes a user, or too many users would go.
    """
    content = imported_content(
        accounts, version=version or file.version, default_hostgroup=default_hostgroup
    )
    warnings = [*content.warnings]
    rows: dict[str, Mapping[str, Any]] = {}
    changed: list[str] = []
    for user, password in _passwords(content, warnings).items():
        known = file.rows.get(user)
        if known is None:
            rows[user] = _new_row(user, password if has_passwords else None, default_hostgroup)
        elif has_passwords and _own_password(known) not in (None, password):
            rows[user] = {**known, "password": password}
            changed.append(user)
        else:
            rows[user] = known
    undecided = undecided_users(accounts, content.version) & file.rows.keys()
    warnings += [f"{user} is kept as it is in {file.path}" for user in sorted(undecided)]
    rows |= {user: file.rows[user] for user in undecided}
    removed = sorted(file.rows.keys() - rows.keys())
    _refuse_loss(file.path, removed, len(file.rows), is_empty=not rows)
    return UpdatedUsers(
        file.path,
        file.text,
        _text(file, content.version if content.is_for_version else None, rows),
        tuple(sorted(rows.keys() - file.rows.keys())),
        tuple(changed),
        tuple(removed),
        tuple(warnings),
    )


def _passwords(content: FileContent, warnings: list[str]) -> dict[str, str]:
    """Return the password of each user that our files accept. Changes: content, warnings."""
    written_file(content, "yaml", "hash", check=lambda text: mistakes_in(text, content.version))
    layout, left_out = content.layouts[_TABLE], content.left_out.get(_TABLE, {})
    warnings += [f"user {key[0]} is left out: {reason}" for key, reason in left_out.items()]
    name, password = layout.index["username"], layout.index["password"]
    return {
        str(row[name]): str(row[password])
        for row in content.tables[_TABLE]
        if layout.key_of(row) not in left_out
    }


def _refuse_loss(path: str, removed: list[str], count: int, *, is_empty: bool) -> None:
    """Refuse to remove many of the users, or all. Raises: RefusedError."""
    if is_empty:
        fix = "check whether the server has all its accounts; if it does, remove the file"
        raise RefusedError(f"{path}: no user would be left", fix=fix)
    limits = GuardLimits()
    percent = limits.max_deletes_percent
    if count > limits.max_deletes_above_rows and len(removed) * 100 > count * percent:
        users = counted(len(removed), "user")
        message = (
            f"{path}: {users} of {count} would be deleted, which is more than {percent} percent"
        )
        names = ", ".join(removed[:20]) + (", ..." if len(removed) > 20 else "")
        fix = (
            "check whether the server has all its accounts; if it does, delete these users from"
            " the file"
        )
        raise RefusedError(message, reasons=[names], fix=fix)


def _own_password(row: Mapping[str, Any]) -> str | None:
    """Return the password that the row itself holds; None for a reference, or without one."""
    password = row.get("password")
    if isinstance(password, dict) and isinstance(password.get("hex"), str):
        try:
            return bytes.fromhex(password["hex"]).decode("utf-8", "surrogateescape")
        except ValueError:
            return ""
    return password if isinstance(password, str) else None


def _new_row(user: str, password: str | None, default_hostgroup: int) -> dict[str, Any]:
    row: dict[str, Any] = {"username": user}
    if password is not None:
        row["password"] = password
    if default_hostgroup:
        row["default_hostgroup"] = default_hostgroup
    return row


def _text(file: UsersFile, version: Version | None, rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the file: equal rows give equal bytes."""
    named = [] if version is None else [f"proxysql_version: {version}"]
    lines = [*file.header, "version: 1", *named, "", f"{_TABLE}:"]
    lines += [f"  - {_flow(rows[user])}" for user in sorted(rows)]
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    """Return a value in the flow style of YAML, as `quoted` writes text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case Mapping():
            members = (f"{quoted(str(key))}: {_flow(item)}" for key, item in value.items())
            return f"{{{', '.join(members)}}}"
        case list():
            return f"[{', '.join(map(_flow, value))}]"
    return repr(value)
