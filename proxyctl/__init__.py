"""proxyctl: ProxySQL configuration as code."""

import sys

__version__ = "0.2.0"


def version_text() -> str:
    """Return what `proxyctl --version` prints: a report of a bug needs both versions."""
    return f"proxyctl {__version__} (Python {sys.version.split()[0]})"
