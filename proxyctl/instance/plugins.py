"""Read which rows of an instance its plugins own."""

from __future__ import annotations

from proxyctl.catalog.plugins import LEDGER, has_plugins
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import query_whole
from proxyctl.proxysql.plugin_ledger import NO_PLUGINS, PluginLedger


def read_ledger(client: AdminClient) -> PluginLedger:
    """Return what plugins own. Asks only a ProxySQL that may have plugins.

    Raises: InstanceError, also for an object of an unknown type: nobody could tell its rows apart.
    """
    if not has_plugins(client.version):
        return NO_PLUGINS
    if client.query(f"SELECT count(*) FROM sqlite_master WHERE name='{LEDGER}'") != [("1",)]:
        return NO_PLUGINS
    rows = query_whole(client, f"SELECT owner, object_type, object_key FROM {LEDGER}", width=3)
    try:
        return PluginLedger.of((str(owner), str(kind), str(key)) for owner, kind, key in rows)
    except ValueError as error:
        raise InstanceError(
            f"{client.address}: {LEDGER} lists {error}, which this proxyctl does not know",
            fix="use a newer proxyctl: this one cannot tell which rows the plugin owns",
        ) from None
