-- What clients send all day: items are looked up, and one is sold. For sysbench.

local ITEMS = 1000

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function thread_done()
   connection:disconnect()
end

function event()
   for _ = 1, 3 do
      connection:query(string.format(
         "SELECT sold FROM item WHERE id = %d", sysbench.rand.uniform(1, ITEMS)))
   end
   connection:query(string.format(
      "UPDATE item SET sold = sold + 1 WHERE id = %d", sysbench.rand.uniform(1, ITEMS)))
end
