"""An error that comes when something was changed already must not say that nothing was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proxyctl.errors import ApplyError, ConnectionLostError, InstanceError, RefusedError


@contextmanager
def changed_already(said: str, *, hint: str | None = None) -> Iterator[None]:
    """Give what comes now the exit code of something half done, and say what was done.

    A connection that was lost stays so: whoever catches it connects again, and looks.

    Raises: ApplyError.
    """
    try:
        yield
    except ConnectionLostError:
        raise
    except (InstanceError, RefusedError) as error:
        reasons = error.reasons if isinstance(error, RefusedError) else []
        then = [*error.then, *reasons, said]
        raise ApplyError(error.message, then=then, hint=hint or error.hint) from error
