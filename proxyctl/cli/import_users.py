"""`import --users-from`: the users of a MySQL server as our files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.instance.backend import Account
    from proxyctl.state.families import Node
    from proxyctl.state.fold import Exported


def imported_users(
    server: str, account: Account | None, version: Version, default_hostgroup: int
) -> Exported:
    """Return the users of a server, and warnings of those that are left out.

    Raises: UsageError, InstanceError.
    """
    from proxyctl.catalog import TABLES, layout_of
    from proxyctl.instance.backend_accounts import chosen_accounts, read_backend_users, user_rows
    from proxyctl.state.fold import Exported

    if account is None:
        raise UsageError("--users-from needs --backend-user: an account that reads mysql.user")
    layout = layout_of(TABLES["mysql_users"], version)
    chosen, left_out = chosen_accounts(read_backend_users(_node(server), account), version)
    exported = Exported(version, warnings=left_out)
    exported.layouts["mysql_users"] = layout
    exported.tables["mysql_users"] = [*user_rows(layout, chosen, default_hostgroup)]
    return exported


def _node(text: str) -> Node:
    from proxyctl.nodes.discover import members_in

    return next(iter(members_in(text)), (text, 3306))
