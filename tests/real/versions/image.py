"""A ProxySQL from an image. It runs here, with the libraries of the image, and can be killed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")


def unpacked(image: str, folder: Path) -> str:
    """Return a script in `folder` that runs the proxysql of an image; pull a missing image.

    The script uses the loader of the image: this machine may have other libraries.
    Raises: RuntimeError when docker does not give the image, or the image has no proxysql.
    """
    container = _docker(image, "create", image)
    try:
        _extract(container, folder)
    finally:
        _docker(image, "rm", container)
    binary = folder / "usr/bin/proxysql"
    loaders = [path for name in _FOLDERS for path in (folder / name).rglob("ld-linux*.so.*")]
    loader = next((path for path in loaders if path.resolve().is_relative_to(folder)), None)
    if not binary.is_file() or loader is None:
        raise RuntimeError(f"image {image}: it has no /usr/bin/proxysql; name one that has")
    libraries = {
        str(path.parent) for name in _FOLDERS for path in (folder / name).rglob("lib*.so*")
    }
    script = folder / "run-proxysql"
    words = [str(loader), "--library-path", ":".join(sorted(libraries)), str(binary)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return str(script)


def _docker(image: str, *arguments: str) -> str:
    """Return the output of a docker command.

    Raises: RuntimeError, with docker's reason, when it fails or there is no docker.
    """
    fix = "name an image that docker can pull, or PROXYSQL=/path/to/proxysql"
    try:
        done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise RuntimeError(f"image {image}: there is no docker here; {fix}") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line and "--help" not in line]
        reason = lines[-1] if lines else f"docker {arguments[0]} exits with {error.returncode}"
        raise RuntimeError(f"image {image}: {reason.rstrip('.')}; {fix}") from None
    return done.stdout.strip()


def _extract(container: str, folder: Path) -> None:
    """Write the files of a container into a folder, without devices."""
    with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
        subprocess.run(
            ["tar", "-x", "-C", folder, "--no-same-owner", "--exclude=dev/*"],
            stdin=export.stdout,
            check=True,
        )


if __name__ == "__main__":
    FOLDER = Path(sys.argv[2])
    FOLDER.mkdir(parents=True)
    sys.stdout.write(f"{unpacked(sys.argv[1], FOLDER)}\n")
