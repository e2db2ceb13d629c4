"""The command digest suggest: proposals with their evidence, and rules to paste."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.commands.digest.top import MOST_LISTED
from proxyctl.cli.connect import Place
from proxyctl.cli.options import FormatOption, value
from proxyctl.cli.output import columns, style, write
from proxyctl.errors import ExitCode, UsageError
from proxyctl.stats.suggest.context import Kind

if TYPE_CHECKING:
    from proxyctl.stats.suggest.files import Subject


def suggest(
    place: Place,
    digests: str | None = value(
        None,
        "FILE",
        "Read digests from a snapshot file; the rules come from the"
        " files, or from the instance that the command line names.",
    ),
    only: list[Kind] | None = value(
        None, "KIND", "reads, cache or slow; repeatable. Default: all."
    ),
    limit: int = value(5, "N", "List at most N of each kind.", min=1, max=MOST_LISTED),
    format: FormatOption = "text",
) -> int:
    """Suggest improvements from the digests that the instance has seen."""
    from proxyctl.render.digest_suggest import suggest_json, suggest_text
    from proxyctl.stats.suggest.run import suggest as suggestions

    subject = _read(place, digests)
    found = suggestions(
        subject.table,
        subject.configuration,
        only=only or (),
        limit=limit,
        may_use=subject.may_use,
    )
    if format == "json":
        write(suggest_json(found))
    else:
        write(suggest_text(found, style(), width=columns()))
    return ExitCode.DONE


def _read(place: Place, digests: str | None) -> Subject:
    """Return digests and rules. One statement at most reads the digest table."""
    from proxyctl.config.project import ParsedFiles
    from proxyctl.stats.digest_file import read_digest_file
    from proxyctl.stats.suggest.files import subject_of_files, subject_of_instance

    table = read_digest_file(Path(digests), "--digests") if digests is not None else None
    if table is not None and not place.asks_instance():
        if not place.has_files():
            raise UsageError(
                "digest suggest needs rules", fix="name files with -f, or an instance with --host"
            )
        return subject_of_files(table, ParsedFiles(place.files.sources()))
    if not place.has_files():
        with place.connect() as client:
            return subject_of_instance(client, table)
    target = place.target()
    with target.connect() as client:
        return subject_of_instance(client, table, target.files)
