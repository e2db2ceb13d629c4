"""Snapshots of an invented shop, for the tests and the picture of the report."""

from __future__ import annotations

import random
from pathlib import Path

from proxyctl.routing.digest import Digester
from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, SeenDigest

START = 1_788_246_000
EVERY = 600

HOSTILE = (
    "SELECT </script><script>document.title='run'</script>"
    "<img src=x onerror=\"document.title='run'\">"
    " \u2028 \x1b[2J\x1b]0;run\x07 \udcff ]]> {{ 7 * 7 }} '\" FROM t WHERE a = ?"
)
"""What must neither run nor be a request nor move a cursor."""

_WRITER, _READER, _REPORTS = 10, 20, 30
_APP = ("shop", "app")
_BATCH = ("shop", "batch")
_STOCK = ("stock", "app")
_REPORT = ("warehouse", "reporting")

_QUERIES = (
    # hostgroup, (schema, user), calls a minute, average in microseconds, rows a call, query
    (_READER, _APP, 5200, 410, 1, "SELECT id,name,price FROM product WHERE id=1"),
    (_READER, _APP, 2100, 2900, 24,
     "SELECT p.id,p.name,p.price,s.amount FROM product p JOIN stock s"
     " ON s.product_id=p.id WHERE p.category_id=3 ORDER BY p.sold DESC LIMIT 24"),
    (_READER, _APP, 1900, 310, 1, "SELECT data FROM session WHERE token='x'"),
    (_WRITER, _APP, 1850, 720, 1, "UPDATE session SET data='x',seen_at=NOW() WHERE token='y'"),
    (_WRITER, _APP, 410, 1400, 1,
     "INSERT INTO cart_item (cart_id,product_id,amount) VALUES (1,2,3)"),
    (_WRITER, _APP, 160, 3300, 1,
     "INSERT INTO orders (customer_id,total,state) VALUES (1,2,'new')"),
    (_WRITER, _APP, 158, 5100, 1, "SELECT amount FROM stock WHERE product_id=1 FOR UPDATE"),
    (_WRITER, _APP, 150, 2200, 1, "UPDATE stock SET amount=amount-1 WHERE product_id=2"),
    (_READER, _APP, 330, 48000, 40, "SELECT id,name FROM product WHERE name LIKE '%lamp%'"
     " OR description LIKE '%lamp%' ORDER BY name LIMIT 40"),
    (_READER, _STOCK, 690, 640, 3, "SELECT shelf,amount FROM place WHERE product_id=77"),
    (_WRITER, _STOCK, 45, 8700, 12, "UPDATE place SET counted_at=NOW() WHERE shelf='A1'"),
    (_WRITER, _BATCH, 6, 910000, 5000,
     "DELETE FROM session WHERE seen_at < '2026-01-01' LIMIT 5000"),
    (_REPORTS, _REPORT, 2, 8400000, 365, "SELECT DATE(o.created_at),SUM(i.amount*i.price) FROM"
     " orders o JOIN order_item i ON i.order_id=o.id WHERE o.created_at>'2026-01-01' GROUP BY 1"
     " ORDER BY 1"),
    (_REPORTS, _REPORT, 1, 21500000, 100,
     "SELECT c.id,c.email,COUNT(*),SUM(o.total) FROM customer c"
     " JOIN orders o ON o.customer_id=c.id GROUP BY c.id ORDER BY 4 DESC LIMIT 100"),
    (-1, _APP, 900, 60, 12, "SELECT id,name FROM category ORDER BY place"),
)  # fmt: skip


def shop_snapshots(folder: Path, count: int = 13, *, hostile: bool = False) -> list[Path]:
    """Write snapshots, ten minutes apart; the statistics are reset before the ninth."""
    chance = random.Random(7)  # the same page every time
    digester = Digester()
    rows: dict[tuple[int, str, str, str], list[int]] = {}
    paths = []
    for number in range(count):
        moment = START + number * EVERY
        if number == 8:
            rows.clear()
        evening = 0.55 + 0.45 * min(number, 9) / 9
        for hostgroup, (schema, user), rate, average, sent, query in _every_query():
            calls = max(1, int(rate * EVERY / 60 * evening * chance.uniform(0.85, 1.15)))
            slower = 2.6 if "LIKE" in query and 4 <= number <= 6 else 1.0
            time = int(calls * average * slower * chance.uniform(0.9, 1.1))
            made = digester.digest(query)
            key = (hostgroup, schema, user, f"{made.hexadecimal} {made.text.decode()}")
            sums = rows.setdefault(key, [0, moment - EVERY, 0, 0, 0])
            sums[0] += calls
            sums[2] += time
            sums[3] = max(sums[3], int(average * slower * chance.uniform(4, 14)))
            sums[4] += calls * sent
        seen = [_row(key, sums, moment) for key, sums in rows.items()]
        if hostile:
            seen.append(_hostile(number, moment))
        table = DigestTable("px1", "10.0.0.11:6032", "2.7.1", moment, seen, {})
        paths.append(folder / f"shop-{number:02}.jsonl")
        write_digest_file(table, paths[-1])
    return paths


def _every_query() -> list[tuple[int, tuple[str, str], int, int, int, str]]:
    chance = random.Random(3)
    made = list(_QUERIES)
    for table in ("address", "audit", "coupon", "invoice", "mail", "payment", "rating", "wishlist"):
        for column in ("id", "customer_id", "state"):
            rate, average = int(10 ** chance.uniform(0.5, 3)), int(10 ** chance.uniform(2.3, 4.6))
            query = f"SELECT * FROM {table} WHERE {column}=1"
            made.append((_READER, _APP, rate, average, 2, query))
        update = f"UPDATE {table} SET state='x' WHERE id=1"
        made.append((_WRITER, _APP, rate // 4 + 1, average // 2, 1, update))
    return made


def _row(key: tuple[int, str, str, str], sums: list[int], moment: int) -> SeenDigest:
    hostgroup, schema, user, digest_and_text = key
    digest, _, text = digest_and_text.partition(" ")
    calls, first, time, most, sent = sums
    is_read = text.startswith("SELECT")
    return SeenDigest(
        *(hostgroup, schema, user, "", digest, text, calls, first, moment, time),
        *(time // calls // 3, most, 0 if is_read else sent, sent if is_read else 0),
    )


def _hostile(number: int, moment: int) -> SeenDigest:
    calls, time = 1000 * (number + 1), 10**9 * (number + 1)
    names = ("<b>sch\x1b[1mema", "</script><script>document.title='run'</script>", "")
    return SeenDigest(
        *(_READER, *names, "0x<img src=http://203.0.113.1/>", HOSTILE, calls, START, moment, time),
        *(1, 10**6, 0, calls),
    )
