"""The settings of whoever runs the tests, which must not reach the proxyctl under test."""

import os


def without_settings() -> None:
    """Take every PROXYCTL_ variable out of this process, but those that tests themselves read."""
    for name in [*os.environ]:
        if name.startswith("PROXYCTL_") and not name.startswith("PROXYCTL_TEST_"):
            del os.environ[name]
