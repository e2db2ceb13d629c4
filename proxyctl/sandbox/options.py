"""How a test or a demo changes the behaviour of a sandbox that is serving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Options:
    """What can be changed while the sandbox serves.

    The hooks are called with the text of each statement, before it runs and before it is answered.
    They may raise AdminError, to let it fail, or CutConnectionError.
    """

    clients_are_remote: bool = False
    before_statement: Callable[[str], None] | None = None
    after_statement: Callable[[str], None] | None = None
