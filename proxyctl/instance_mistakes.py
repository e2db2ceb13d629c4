"""What the files ask for and this instance cannot take, as the rows that were read of it show."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.config.drops import admin_names
from proxyctl.errors import Mistake
from proxyctl.fitting import mistake_at
from proxyctl.instance_survey import InstanceSurvey
from proxyctl.state import KEEP, Layer


def mistakes_when_read(survey: InstanceSurvey) -> Iterator[Mistake]:
    """Yield what is wrong with what is managed, given the tables that have been read."""
    yield from _new_users_without_password(survey)
    yield from _unknown_variables(survey)
    yield from _logins_that_are_users(survey)


def _new_users_without_password(survey: InstanceSurvey) -> Iterator[Mistake]:
    for name in ("mysql_users", "pgsql_users"):
        found = survey.done.get(name)
        if found is None or found.desired is None:
            continue
        password = found.layout.index["password"]
        for change in found.changes[Layer.MEMORY]:
            row = change.desired
            if change.current is None and row is not None and row[password] is KEEP:
                yield mistake_at(
                    found.desired.where.get(change.key),
                    "password",
                    f"user {change.key[0]!r} is new and has no password",
                    "add `password: {env: NAME}`; without it only existing users are left alone",
                )


def _unknown_variables(survey: InstanceSurvey) -> Iterator[Mistake]:
    for found in survey.done.values():
        if found.layout.table.prefix is None or found.desired is None:
            continue
        for change in found.changes[Layer.MEMORY]:
            if change.current is None:
                yield mistake_at(
                    found.desired.where.get(change.key),
                    str(change.key[0]),
                    f"ProxySQL {survey.client.version_text} has no such variable",
                )


def _logins_that_are_users(survey: InstanceSurvey) -> Iterator[Mistake]:
    """Yield new logins of the admin interface whose name an application uses already."""
    admin = survey.tables.get("admin_variables")
    logins = admin_names(admin)
    if admin is None or not logins or "mysql_users" not in survey.layouts:
        return
    present = {str(key[0]) for key in survey.table("mysql_users").target}
    for name in sorted(present & logins.keys() - survey.facts.admin_names):
        yield mistake_at(
            admin.where.get((logins[name],)),
            logins[name],
            f"{name!r} is in mysql_users of this instance: as a login of the admin interface it"
            " could not be used by the application any more",
            "choose another name for the login",
        )
