-- Point selects on one of many tables: in one schema, or each thread in the schema of a tenant.
sysbench.cmdline.options = {
   names = {"Number of sharded tables, or of schemas", 60},
   by_schema = {"Each thread uses one schema", false},
}

function thread_init()
   connection = sysbench.sql.driver():connect()
   if sysbench.opt.by_schema then
      local step = math.floor(sysbench.opt.names / sysbench.opt.threads)
      connection:query("USE tenant_" .. (sysbench.tid * step + 1))
   end
end

function event()
   local table_number = 1
   if not sysbench.opt.by_schema then
      table_number = sysbench.rand.uniform(1, sysbench.opt.names)
   end
   connection:query("SELECT c FROM sbtest" .. table_number .. " WHERE id=" .. sysbench.rand.uniform(1, 10))
end
