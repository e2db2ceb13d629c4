"""A small `mysql` client for the pages: it knows `-h -P -u -p -e`.

The machine that runs the tests needs no client. It imports little, as pages start it often.
"""

from __future__ import annotations

import argparse
import sys

import pymysql


def main() -> None:
    """Run the statements and write the rows, tab between the columns."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-h", dest="host", default="127.0.0.1")
    parser.add_argument("-P", dest="port", type=int, required=True)
    parser.add_argument("-u", dest="user", default="radmin")
    parser.add_argument("-p", dest="password", default="radmin")
    parser.add_argument("-e", dest="statements", required=True)
    given = vars(parser.parse_args())
    statements = given.pop("statements").split(";")
    connection = pymysql.connect(**given, autocommit=True, ssl_disabled=True)
    with connection, connection.cursor() as cursor:
        for statement in filter(None, map(str.strip, statements)):
            cursor.execute(statement)
            names = [column[0] for column in cursor.description or ()]
            for row in (names, *cursor.fetchall()) if names else ():
                sys.stdout.write("\t".join("NULL" if v is None else v for v in row) + "\n")


if __name__ == "__main__":
    main()
