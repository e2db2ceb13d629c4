-- What the shop of docs/how-to/slow-query.md sends: an account is looked for, its orders are listed,
-- now and then it orders something. For sysbench.

local ACCOUNTS = 20000

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function thread_done()
   connection:disconnect()
end

function event()
   local account = sysbench.rand.uniform(1, ACCOUNTS)
   connection:query(string.format(
      "SELECT id FROM account WHERE LOWER(email) = LOWER('User%d@example.org')", account))
   for _ = 1, 3 do
      connection:query(string.format(
         "SELECT id, total FROM orders WHERE account = %d ORDER BY id DESC LIMIT 10", account))
      account = sysbench.rand.uniform(1, ACCOUNTS)
   end
   if account % 4 == 0 then
      connection:query(string.format(
         "INSERT INTO orders (account, total) VALUES (%d, 12.50)", account))
   end
end
