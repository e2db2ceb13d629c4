"""Tables that belong to ProxySQL itself: scheduler, REST API, native cluster."""

from proxyctl.catalog.model import Column, Table

OTHER_TABLES: tuple[Table, ...] = (
    Table(
        "scheduler",
        admin_module="SCHEDULER",
        key=("id",),
        autoincrement=True,
        columns=(
            Column("id", "INTEGER", notnull=True),
            Column("active", "INT", notnull=True, default=1, check="active IN (0,1)"),
            Column("interval_ms", "INTEGER", notnull=True, check="interval_ms>=100 AND interval_ms<=100000000"),
            Column("filename", "VARCHAR", notnull=True),
            Column("arg1", "VARCHAR"),
            Column("arg2", "VARCHAR"),
            Column("arg3", "VARCHAR"),
            Column("arg4", "VARCHAR"),
            Column("arg5", "VARCHAR"),
            Column("comment", "VARCHAR", notnull=True, default=""),
        ),
    ),
    Table(
        "restapi_routes",
        admin_module="RESTAPI",
        key=("id",),
        autoincrement=True,
        columns=(
            Column("id", "INTEGER", notnull=True),
            Column("active", "INT", notnull=True, default=1, check="active IN (0,1)"),
            Column("timeout_ms", "INTEGER", notnull=True, check="timeout_ms>=100 AND timeout_ms<=100000000"),
            Column("method", "VARCHAR", notnull=True, check="UPPER(method) IN ('GET','POST')"),
            Column("uri", "VARCHAR", notnull=True),
            Column("script", "VARCHAR", notnull=True),
            Column("comment", "VARCHAR", notnull=True, default=""),
        ),
    ),
    Table(
        "proxysql_servers",
        admin_module="PROXYSQL SERVERS",
        key=("hostname", "port"),
        columns=(
            Column("hostname", "VARCHAR", notnull=True),
            Column("port", "INT", notnull=True, default=6032),
            Column("weight", "INT", notnull=True, default=0, check="weight >= 0"),
            Column("comment", "VARCHAR", notnull=True, default=""),
        ),
    ),
)
