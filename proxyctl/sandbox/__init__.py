"""The sandbox: ProxySQL's admin interface, embedded, over the MySQL protocol.

It has the tables, defaults and constraints of a given ProxySQL version, moves rows between MEMORY,
RUNTIME and DISK as ProxySQL does, and refuses with a clear error what it does not model. It serves
no traffic, and it has no TLS. The conformance suite runs the same cases on it and a real ProxySQL.
"""

from proxyctl.sandbox.replies import AdminError, CutConnectionError
from proxyctl.sandbox.sandbox import Sandbox

__all__ = ["AdminError", "CutConnectionError", "Sandbox"]
