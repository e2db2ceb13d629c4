"""Small builders for tests of the files: they turn a text into a project or its mistakes."""

from pathlib import Path

from proxyctl.catalog import REFERENCE
from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError


def write(folder, text, name="proxyctl.yaml", **more):
    """Write a file; `more` are further files, with a dot for each double underscore."""
    for other, content in {name: text, **more}.items():
        (Path(folder) / other.replace("__", ".")).write_text(content, encoding="utf-8")
    return str(Path(folder) / name)


def load(folder, text, *, version=REFERENCE, name="proxyctl.yaml", variables=None, **more):
    """Return the project that a file describes."""
    path = write(folder, text, name, **more)
    return load_project(Sources((path,), variables or {}), version=version)


def mistakes(folder, text, **options):
    """Return the mistakes of a file, as `line: key: message`."""
    try:
        load(folder, text, **options)
    except ConfigError as error:
        return [f"{m.line}: {m.key}: {m.message}" for m in error.mistakes]
    return []


def row(table, *key):
    """Return a row of a desired table as a dict."""
    return dict(zip(table.layout.names, table.rows[key], strict=True))
