"""The options that name the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from proxyctl.cli.option_kinds import flag, value
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.config.sources import Sources


@dataclass(frozen=True)
class FileOptions:
    """Which files describe the configuration."""

    PANEL: ClassVar = "Files"
    file: list[str] | None = value(
        "PATH",
        "File or folder (*.yaml, *.yml, *.j2); repeatable. Default: ./proxyctl.yaml.",
        "--file",
        "-f",
        envvar="PROXYCTL_FILE",
    )
    var: list[str] | None = value("NAME=VALUE", "A variable for templates; repeatable.")
    var_file: list[str] | None = value(
        "PATH", "YAML or JSON file with variables for templates; repeatable."
    )
    restrict_paths: bool = flag(
        "--restrict-paths",
        "Refuse files outside the folders of -f, including through symbolic links.",
    )

    def paths(self) -> list[str]:
        """Return what -f named, or the default.

        Raises: UsageError for an empty path: with an unset shell variable it would be `.`.
        """
        if self.file and not all(self.file):
            raise UsageError("--file: the path is empty")
        return self.file or ["./proxyctl.yaml"]

    def variables(self) -> dict[str, object]:
        """Return the values of --var. Raises: UsageError for a missing `=` or a repeated name."""
        values: dict[str, object] = {}
        for item in self.var or ():
            name, separator, text = item.partition("=")
            if not separator or not name.isidentifier():
                raise UsageError(
                    f"--var {name}: expected NAME=VALUE, with a NAME of letters, digits and _"
                )
            if name in values:
                raise UsageError(f"--var {name}: defined twice")
            values[name] = text
        return values

    def sources(self) -> Sources:
        """Return the files, with the variables for their templates. Raises: UsageError."""
        from proxyctl.config.files import Sources

        return Sources(
            paths=tuple(self.paths()),
            variables=self.variables(),
            var_files=tuple(self.var_file or ()),
            restrict_paths=self.restrict_paths,
        )
