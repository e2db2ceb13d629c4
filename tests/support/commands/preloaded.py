"""Work that the forking process does once: imports, models and patterns take longer than a case.

Importing this runs the change on a sandbox of its own, once.
"""

import gc
import os
import tempfile
from pathlib import Path

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import SECRETS, proxyctl, without_settings
from tests.support.every_module import AFTER, BEFORE


def _warm_up() -> None:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, Sandbox() as sandbox:
        os.chdir(folder)
        without_settings()
        os.environ.update(
            SECRETS,
            PROXYCTL_STATE_DIR=folder,
            PROXYCTL_HOST=sandbox.host,
            PROXYCTL_PORT=str(sandbox.port),
            PROXYCTL_PASSWORD="admin",
        )
        for files in (BEFORE, AFTER):
            Path("proxyctl.yaml").write_text(files)
            done = proxyctl("apply", "--auto-approve")
            assert done.code == 0, done.text
        os.chdir(here)
    gc.freeze()


_warm_up()
