"""Reads and writes as applications send them, to try rules with. Fixed and few."""

READS = (
    "SELECT c FROM t WHERE id=1",
    "SELECT * FROM orders WHERE customer_id=42 AND state='open' ORDER BY created_at DESC LIMIT 20",
    "select count(*) from `Customers`",
    "SELECT o.id, c.name FROM shop.orders o JOIN shop.customers c ON c.id=o.customer_id",
    "/* page 7 */ SELECT price FROM products WHERE sku IN ('a','b','c')",
    "SELECT c\nFROM t\nWHERE id=1\nFOR UPDATE",
    "WITH a AS (SELECT id FROM users) SELECT * FROM a",
    "(SELECT 1 FROM x1) UNION ALL (SELECT 2 FROM x2)",
    "SELECT DISTINCT city FROM addresses WHERE zip BETWEEN 10000 AND 19999",
    "  SELECT MAX(total) FROM invoices GROUP BY year HAVING MAX(total) > 99.5",
)
WRITES = (
    "INSERT INTO t (c) VALUES ('a')",
    "insert into events (kind, at) values ('click', now()), ('view', now())",
    "INSERT INTO archive.orders SELECT * FROM orders WHERE created_at < '2020-01-01'",
    "UPDATE users SET last_login=NOW(), logins=logins+1 WHERE id=7",
    "update `Stock` set amount=amount-1 where sku='x-1' and amount>0",
    "UPDATE t\nSET c='SELECT'\nWHERE id=1",
    "DELETE FROM sessions WHERE expires < 1700000000",
    "/* job 3 */ DELETE FROM queue WHERE id IN (1,2,3)",
    "REPLACE INTO settings (name, value) VALUES ('theme', 'dark')",
    "INSERT INTO counters (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n=n+1",
)
