"""What the command line says about the files, and what their templates made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sources:
    """Which files are meant, and what their templates are given.

    `variables` are those of `--var`; `instance_vars` those that an instance brings along.
    `restrict_paths` keeps `{file:}`, `{csv:}`, `{jsonl:}` and template includes inside the folders
    of `paths`, and lets no named file lead out of its folder. `warn` is told what is unwise.
    """

    paths: tuple[str, ...] = ("./proxyctl.yaml",)
    variables: Mapping[str, object] = field(default_factory=dict)
    var_files: tuple[str, ...] = ()
    instance_vars: Mapping[str, object] = field(default_factory=dict)
    restrict_paths: bool = False
    warn: Callable[[str], None] = lambda _text: None


@dataclass
class NamesUsed:
    """The names that all templates together take from outside, or give themselves.

    Not `are_all_known` where a template cannot be read, or includes a file whose name it works out.
    """

    names: set[str] = field(default_factory=set)
    are_all_known: bool = True
