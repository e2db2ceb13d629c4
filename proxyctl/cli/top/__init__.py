"""The command top: a live view of an instance on the terminal. The only package that uses Textual.

Textual is an extra. Only `command` is imported before it is known to be there.
"""

from proxyctl.cli.top.command import register

__all__ = ["register"]
