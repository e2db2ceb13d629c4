"""The command `proxyctl`. `--version` is answered before the command line library is imported."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from proxyctl import version_text

        sys.stdout.write(f"{version_text()}\n")
        sys.exit(0)
    # A command builds large tables without cycles, then ends: collecting garbage only costs time.
    gc.disable()
    # Looking for plugins of pydantic takes longer than anything else at the start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from proxyctl.cli.app import run
    except KeyboardInterrupt:
        # Imports take long enough for somebody to think better of it.
        if sys.stderr is not None:
            sys.stderr.write("interrupted; nothing was changed\n")
        sys.exit(130)
    code = run(sys.argv[1:])
    # At its exit Python collects garbage even so, but not what is frozen.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
