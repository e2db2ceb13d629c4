"""Option files of the mysql client: the group `client`."""

from __future__ import annotations

from pymysql.optionfile import Parser

from proxyctl.errors import ProxyctlError


def client_options(path: str) -> dict[str, str]:
    """Return the options of the group `client`; none where the file has no such group.

    Raises: OSError where the file cannot be read; ProxyctlError where it is no option file.
    """
    parser = Parser()
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        if not parser.has_section("client"):
            return {}
        return {name: parser.get("client", name) for name in parser.options("client")}
    except OSError:
        raise
    except Exception as error:
        # The parser's own message repeats the line, which may hold the password.
        raise ProxyctlError(f"{path}: not an option file: {type(error).__name__}") from None
