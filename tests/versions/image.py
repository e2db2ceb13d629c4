"""A ProxySQL out of an image. It runs here, with the libraries of the image, and can be killed."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")


def unpacked(image: str, folder: Path) -> str:
    """Return a script in `folder` that runs the proxysql of an image, pulled where it is missing.

    It starts it by the loader of the image: the libraries of this machine may be others.
    Raises: RuntimeError when the image has no proxysql.
    """
    made = subprocess.run(["docker", "create", image], stdout=subprocess.PIPE, check=True)
    container = made.stdout.decode().strip()
    try:
        _extract(container, folder)
    finally:
        subprocess.run(["docker", "rm", container], stdout=subprocess.DEVNULL, check=True)
    binary = folder / "usr/bin/proxysql"
    loaders = [path for name in _FOLDERS for path in (folder / name).rglob("ld-linux*.so.*")]
    loader = next((path for path in loaders if path.resolve().is_relative_to(folder)), None)
    if not binary.is_file() or loader is None:
        raise RuntimeError(f"the image {image} has no /usr/bin/proxysql")
    libraries = {
        str(path.parent) for name in _FOLDERS for path in (folder / name).rglob("lib*.so*")
    }
    script = folder / "run-proxysql"
    words = [str(loader), "--library-path", ":".join(sorted(libraries)), str(binary)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return str(script)


def _extract(container: str, folder: Path) -> None:
    """Write the files of a container into a folder, without devices."""
    with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
        subprocess.run(
            ["tar", "-x", "-C", folder, "--no-same-owner", "--exclude=dev/*"],
            stdin=export.stdout,
            check=True,
        )
