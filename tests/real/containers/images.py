"""The images of the containers, and whether containers can start."""

from __future__ import annotations

import gc
import os
import warnings
from functools import cache

_NAMES = ("PROXYCTL_TEST_PXC_IMAGE", "PROXYCTL_TEST_PROXYSQL_IMAGE")
PXC = os.environ.get(_NAMES[0], "percona/percona-xtradb-cluster:8.0")
PROXYSQL = os.environ.get(_NAMES[1], "proxysql/proxysql:2.7.1")
PYTHON = os.environ.get("PROXYCTL_TEST_PYTHON_IMAGE", "python:3.13-slim")
"""What the image of proxyctl is built on."""
ARE_NAMED = any(name in os.environ for name in _NAMES)
"""Somebody named the images: then the tests have to run, and none may pass unseen."""


@cache
def what_is_missing() -> str | None:
    """Return why no container can be started, or None. Pulls the images."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    client, reason = None, ""
    try:
        client = docker.from_env()
    except DockerException as error:
        reason = f"no Docker that answers: {error}"
    if client is None:
        with warnings.catch_warnings():
            # A failed connection left its socket open; another test would get the warning.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        return reason
    for image in (PXC, PROXYSQL):
        try:
            client.images.get(image)
        except ImageNotFound:
            try:
                client.images.pull(image)
            except DockerException as error:
                return f"{image} is not here and cannot be pulled: {error}"
    return None
