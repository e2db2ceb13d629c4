"""The sandbox: ProxySQL's admin interface, embedded, over the MySQL protocol.

It has the tables, defaults and constraints of a given ProxySQL version, moves rows between MEMORY,
RUNTIME and DISK as ProxySQL does, and answers what proxyctl, the mysql client and the documentation
send. It refuses the rest with a clear error. It serves no traffic, and it has no TLS. The
conformance suite runs the same cases on it and a real ProxySQL.
"""

from proxyctl.sandbox.replies import AdminError, CutConnectionError
from proxyctl.sandbox.sandbox import Sandbox

__all__ = ["AdminError", "CutConnectionError", "Sandbox"]
