"""What the pages need of the command line client `mysql`: `-h -P -u -p -e`, statement by statement.

A machine that runs the tests need not have a client.
"""

from __future__ import annotations

import argparse
import sys

from tests.support.servers import Instance


def main() -> int:
    """Run the statements and write the rows, tab between the columns."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-h", dest="host", default="127.0.0.1")
    parser.add_argument("-P", dest="port", type=int, required=True)
    parser.add_argument("-u", dest="user", default="radmin")
    parser.add_argument("-p", dest="password", default="radmin")
    parser.add_argument("-e", dest="statements", required=True)
    given = parser.parse_args()
    instance = Instance(given.host, given.port, given.user, given.password)
    for statement in filter(None, map(str.strip, given.statements.split(";"))):
        reply = instance.run(statement)
        for row in (reply.columns, *reply.rows) if reply.columns else ():
            sys.stdout.write("\t".join("NULL" if v is None else v for v in row) + "\n")
    instance.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
