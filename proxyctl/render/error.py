"""An error as JSON. For people its own `lines` are written."""

from __future__ import annotations

from proxyctl.errors import ApplyError, ConfigError, Mistake, ProxyctlError, RefusedError
from proxyctl.render.encode import ABSENT, Shape

ERROR: Shape[ProxyctlError] = Shape(
    "error",
    "type message fix exit_code mistakes reasons layers",
    type=lambda one: type(one).__name__,
    message=str,
    exit_code=lambda one: int(one.exit_code),
    mistakes=lambda one: MISTAKE.each(one.mistakes) if isinstance(one, ConfigError) else ABSENT,
    reasons=lambda one: one.reasons if isinstance(one, RefusedError) else ABSENT,
    layers=lambda one: one.layers if isinstance(one, ApplyError) else ABSENT,
)
MISTAKE: Shape[Mistake] = Shape("mistake", "path line column key message fix")
