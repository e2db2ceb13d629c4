"""Host names, programs and paths that a LOAD takes, and that then do not work.

ProxySQL checks none of them: the queries of such a server wait and fail, and a program that cannot
run is a line in the error log. What never works is a *flaw*, and our files refuse it; what works
only in rare cases is a *doubt*, and lint warns of it.
Source: ProxySQL 2.7.1 and 3.0.3, run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from proxyctl.rows.row import Secret


class ValueFlaw(NamedTuple):
    """Why the value of a column never works, or only in rare cases, and the fix."""

    column: str
    message: str
    fix: str


RowValues = Mapping[str, object]
"""The values of a row by column name; what is no text or number has no flaw."""
Judge = Callable[[RowValues], ValueFlaw | None]

OF_REFERENCE = ("the value that the reference yields cannot be used here", "correct it")
"""The message and the fix for a text from a reference: other words may have parts of it."""

WHERE_IT_RUNS = "in the directory where ProxySQL was started (as a daemon, its data directory)"

# Servers -----------------------------------------------------------------------------------------

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://(?:[^/@]*@)?(\[[^\]]*\]|[^/:?]*)(?::(\d+))?.*", re.DOTALL)
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::(\d*))?")
_NAME = re.compile(r"[\w.-]+")
"""What a resolver may know. Host names of other letters than ASCII may stand in /etc/hosts."""
_NUMBERS = re.compile(r"[\d.]+", re.ASCII)
_WRITE_HOST = "write the name or the address of the server"
_WRITE_DOMAIN = (
    "write what follows the instance in its endpoint: .abc123.eu-west-1.rds.amazonaws.com"
)


def _mysql_server(cells: RowValues) -> ValueFlaw | None:
    """Port 0 stands for a Unix socket, whose path is the host name."""
    name, port = cells["hostname"], cells["port"]
    if isinstance(name, str) and name.startswith("/"):
        if port == 0:
            return None
        message = f"the path of a Unix socket needs port 0, not {port}"
        return ValueFlaw("hostname", message, "write port: 0")
    return None if port == 0 and name else _host(name)


def _pgsql_server(cells: RowValues) -> ValueFlaw | None:
    """The client library also takes the folder of a Unix socket, or its abstract name."""
    name, port = cells["hostname"], cells["port"]
    if port == 0:
        fix = "write the port of the server, also for the folder of a Unix socket"
        return ValueFlaw("port", "PostgreSQL's client library refuses port 0", fix)
    if not isinstance(name, str) or name.startswith(("/", "@")):
        return None
    return _host(name)


def _member(cells: RowValues) -> ValueFlaw | None:
    return _host(cells["hostname"])


def _host(name: object) -> ValueFlaw | None:
    """Return why no resolver takes a host name or address; None if one may.

    The client libraries split a list of hosts at its commas, so lists are left alone.
    """
    if not isinstance(name, str) or "," in name:
        return None
    if name == "":
        return ValueFlaw("hostname", "an empty host name", _WRITE_HOST)
    if url := _SCHEME.fullmatch(name):
        return ValueFlaw("hostname", "a URL is not a host name", _written(url[1], url[2]))
    if ":" in name and _is_ipv6(name):
        return None
    parts = _WITH_PORT.fullmatch(name)
    if parts and parts[1].startswith("["):
        message = "an IPv6 address is written without brackets here"
        return ValueFlaw("hostname", message, _written(parts[1], parts[2]))
    if parts and parts[2] is not None:
        message = "the port is not part of the host name"
        return ValueFlaw("hostname", message, _written(parts[1], parts[2]))
    if not _NAME.fullmatch(name):
        wrong = next(letter for letter in name if not _NAME.match(letter))
        what = "a space" if wrong.isspace() else f"`{wrong}`"
        fix = "write one name or one address, and nothing else"
        return ValueFlaw("hostname", f"a host name cannot contain {what}", fix)
    if _NUMBERS.fullmatch(name) and not _is_ipv4(name):
        return ValueFlaw("hostname", f"{name} is not an IPv4 address", "correct the address")
    return None


def _written(host: str, port: str | None) -> str:
    host = host.strip("[]")
    if not host:
        return _WRITE_HOST
    return f"write hostname: {host}" + (f", port: {port}" if port else "")


def _is_ipv6(name: str) -> bool:
    # Imported late: every command imports this module, and few rows have a colon.
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(name)
    except AddressValueError:
        return False
    return True


def _is_ipv4(name: str) -> bool:
    """Return whether C reads a text of digits and dots: the last of at most four fills the rest."""
    *first, last = name.split(".")
    if len(first) > 3 or not all(part.isdigit() for part in (*first, last)):
        return False
    return all(int(part) < 256 for part in first) and int(last) < 256 ** (4 - len(first))


def _relative_socket(cells: RowValues) -> ValueFlaw | None:
    name = cells["hostname"]
    if cells["port"] == 0 and isinstance(name, str) and not name.startswith("/"):
        message = f"with port 0, {name!r} is a Unix socket {WHERE_IT_RUNS}"
        return ValueFlaw("port", message, "write the port of the server, or the path of the socket")
    return None


def _several_hosts(cells: RowValues) -> ValueFlaw | None:
    if "," not in str(cells["hostname"]):
        return None
    message = "the client library tries several hosts in turn, but ProxySQL treats them as one"
    return ValueFlaw("hostname", message, "write a row for each host")


def _domain(cells: RowValues) -> ValueFlaw | None:
    """The monitor appends the domain of an Aurora cluster to the name of each instance."""
    domain = cells["domain_name"]
    flaw = _host(f"a{domain}") if isinstance(domain, str) and domain.startswith(".") else None
    return flaw and ValueFlaw("domain_name", flaw.message, _WRITE_DOMAIN)


def _domain_of_cluster(cells: RowValues) -> ValueFlaw | None:
    domain = cells["domain_name"]
    if not isinstance(domain, str) or not domain.startswith((".cluster-", ".proxy-")):
        return None
    message = "the cluster endpoint ends like this, but its instance endpoints do not"
    return ValueFlaw("domain_name", message, _WRITE_DOMAIN)


# Programs ----------------------------------------------------------------------------------------

_ARGUMENTS = re.compile(r"\s(?:-{1,2}[A-Za-z]|/|[|&>;])|\s\Z|\A\s")


_ONE_PATH = "ProxySQL treats the whole text as the path of one program and does not use a shell"


def _program(column: str, arguments: str) -> Judge:
    """Return what judges the path of a program. `arguments`: how the program gets them."""

    def judge(cells: RowValues) -> ValueFlaw | None:
        path = cells[column]
        if path == "":
            return ValueFlaw(column, "an empty path", "write the absolute path of a program")
        if isinstance(path, str) and _ARGUMENTS.search(path):
            return ValueFlaw(column, _ONE_PATH, f"write the path alone, and {arguments}")
        return None

    return judge


def _doubtful_program(column: str, arguments: str, place: str) -> Judge:
    """Return what warns of a path with a blank, or of a relative one.

    `place`: where ProxySQL looks for a name without a folder.
    """

    def judge(cells: RowValues) -> ValueFlaw | None:
        path = cells[column]
        if not isinstance(path, str):
            return None
        if re.search(r"\s", path):
            return ValueFlaw(column, _ONE_PATH, f"write the path alone, and {arguments}")
        if path.startswith("/"):
            return None
        where = WHERE_IT_RUNS if "/" in path else place
        return ValueFlaw(column, f"ProxySQL looks for it {where}", "write the absolute path")

    return judge


_OF_SCHEDULER = "the arguments in arg1 to arg5"
_OF_RESTAPI = "let the script read its parameters from its first argument, a JSON text"


def _route(cells: RowValues) -> ValueFlaw | None:
    """ProxySQL compares the part of the path behind /sync/, up to the next slash."""
    uri = cells["uri"]
    if not isinstance(uri, str) or not re.search("[/']", uri):
        return None
    message = "ProxySQL expects a single name after /sync/, without a slash or quote"
    names = [part for part in re.split("[/']", uri) if part and part != "sync"]
    return ValueFlaw(
        "uri", message, f"write {names[0]!r}" if names else "write the name of the route"
    )


def _method(cells: RowValues) -> ValueFlaw | None:
    method = cells["method"]
    if not isinstance(method, str) or method.isupper():
        return None
    return ValueFlaw("method", "ProxySQL compares it in upper case", f"write {method.upper()}")


# Other files -------------------------------------------------------------------------------------


def is_in_relative_folder(path: str) -> bool:
    """Return whether a path names a folder, and not from the root.

    A name without a folder is that of a file in the data directory, and may be meant so.
    """
    return "/" in path and not path.startswith("/")


# Tables ------------------------------------------------------------------------------------------

_FLAWS: Mapping[str, tuple[Judge, ...]] = {
    "mysql_servers": (_mysql_server,),
    "mysql_servers_ssl_params": (_mysql_server,),
    "pgsql_servers": (_pgsql_server,),
    "pgsql_servers_ssl_params": (_pgsql_server,),
    "proxysql_servers": (_member,),
    "mysql_aws_aurora_hostgroups": (_domain,),
    "scheduler": (_program("filename", _OF_SCHEDULER),),
    "restapi_routes": (_program("script", _OF_RESTAPI), _route, _method),
}
_DOUBTS: Mapping[str, tuple[Judge, ...]] = {
    "mysql_servers": (_relative_socket, _several_hosts),
    "pgsql_servers": (_several_hosts,),
    "proxysql_servers": (_several_hosts,),
    "mysql_aws_aurora_hostgroups": (_domain_of_cluster,),
    "scheduler": (_doubtful_program("filename", _OF_SCHEDULER, WHERE_IT_RUNS),),
    "restapi_routes": (_doubtful_program("script", _OF_RESTAPI, "in the folders of its PATH"),),
}


def has_flaws(table: str) -> bool:
    """Return whether rows of a table may have flaws."""
    return table in _FLAWS


def flaws(table: str, cells: RowValues) -> Iterator[ValueFlaw]:
    """Yield the values of a row that never work."""
    yield from _judged(_FLAWS.get(table, ()), cells)


def doubts(table: str, cells: RowValues) -> Iterator[ValueFlaw]:
    """Yield the values of a row without a flaw that work only in rare cases."""
    yield from _judged(_DOUBTS.get(table, ()), cells)


def _judged(judges: Iterable[Judge], cells: RowValues) -> Iterator[ValueFlaw]:
    for flaw in filter(None, (judge(cells) for judge in judges)):
        if isinstance(cells[flaw.column], Secret):
            yield ValueFlaw(flaw.column, *OF_REFERENCE)
        else:
            yield flaw
