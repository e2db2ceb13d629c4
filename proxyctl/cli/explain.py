"""The command explain: what becomes of a query, and which rules say so."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.files import VersionOption, chosen_version
from proxyctl.cli.options import ConnectionOptions, FileOptions, LayerName, command
from proxyctl.cli.output import style, write
from proxyctl.errors import ExitCode, ProxyctlError, UsageError
from proxyctl.state.row import Layer

if TYPE_CHECKING:
    from proxyctl.routing import Request
    from proxyctl.routing.explain import Explainer

_LINES_AT_ONCE = 1_000


class ExplainFormat(StrEnum):
    """How an explanation is written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


@dataclass(frozen=True)
class SessionOptions:
    """Who sends the query."""

    username: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who sends the query."),
    ] = None
    schemaname: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The session's schema. Default: that of the user, or mysql-default_schema.",
        ),
    ] = None
    client_addr: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The client's address."),
    ] = None
    proxy_addr: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address the client connected to."),
    ] = None
    proxy_port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help="The port the client connected to."),
    ] = None
    flagIN: Annotated[  # noqa: N815 - the column's own name
        int,
        typer.Option(
            "--flagIN", metavar="N", min=0, help="What next_query_flagIN of an earlier query left."
        ),
    ] = 0

    def given(self) -> list[str]:
        """Return the options that were given."""
        found = {**vars(self), "flagIN": self.flagIN or None}
        return [f"--{name.replace('_', '-')}" for name, value in found.items() if value is not None]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "explain")(explain)


def explain(
    files: FileOptions,
    connection: ConnectionOptions,
    session: SessionOptions,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The query; - reads it from stdin.")
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="FILE.jsonl",
            help='Many queries, one a line: {"query": ..., "username": ...}; - is stdin.',
        ),
    ] = None,
    layer: Annotated[
        LayerName, typer.Option("--layer", help="Which layer of an instance to ask.")
    ] = LayerName.RUNTIME,
    all_rules: Annotated[
        bool, typer.Option("--all-rules", help="List each rule that does not match.")
    ] = False,
    proxysql_version: VersionOption = None,
    format: Annotated[
        ExplainFormat | None,
        typer.Option(
            "--format",
            metavar="text|json|jsonl",
            help="How to write. Default: text; with --queries jsonl.",
        ),
    ] = None,
) -> int:
    """Show which rules a query meets, what it becomes and where it goes.

    The files are asked; with --host, --port, --socket or --instance what that instance runs with.
    """
    from proxyctl.cli.subject import subject_of
    from proxyctl.render.explain_machine import explain_json
    from proxyctl.routing.explain import TABLES, Explainer

    if (query is None) == (queries is None):
        raise UsageError("expected a QUERY or --queries FILE", hint="one of them")
    if queries is not None and session.given():
        raise UsageError(f"{session.given()[0]}: with --queries it stands in each line")
    chosen = format or (ExplainFormat.TEXT if queries is None else ExplainFormat.JSONL)
    subject = subject_of(
        files,
        connection,
        version=chosen_version(proxysql_version),
        tables=TABLES,
        layer=Layer(layer),
    )
    explainer = Explainer(
        subject.configuration, is_placed=bool(subject.name) and layer is LayerName.RUNTIME
    )
    with _opened(queries) as lines:
        requests = _requests(query, session, lines, queries)
        match chosen:
            case ExplainFormat.JSONL:
                _write_lines(explainer, requests)
            case ExplainFormat.JSON:
                found = [explain_json(explainer.answer(one)) for one in requests]
                whole = {"format": 1, "queries": found} if queries else {"format": 1, **found[0]}
                write(json.dumps(whole, indent=2) + "\n")
            case ExplainFormat.TEXT:
                _write_texts(explainer, requests, lists_all=all_rules)
    return ExitCode.DONE


@contextmanager
def _opened(queries: str | None) -> Iterator[Iterable[bytes]]:
    if queries is None:
        yield ()
    elif queries == "-":
        yield sys.stdin.buffer
    else:
        try:
            file = Path(queries).open("rb")  # noqa: SIM115 - the context manager below closes it
        except OSError as error:
            raise ProxyctlError(f"--queries {queries}: {error.strerror}") from error
        with file:
            yield file


def _requests(
    query: str | None, session: SessionOptions, lines: Iterable[bytes], path: str | None
) -> Iterator[Request]:
    if query is None:
        from proxyctl.formats.query_lines import read_requests

        yield from read_requests(lines, path or "-")
        return
    from proxyctl.routing import Request

    text = os.fsencode(query)
    if query == "-":
        text = sys.stdin.buffer.read().removesuffix(b"\n").removesuffix(b"\r")
    yield Request(text, **vars(session))


def _write_lines(explainer: Explainer, requests: Iterable[Request]) -> None:
    """Write the batch form, many lines at once."""
    from proxyctl.render.explain_machine import batch_line

    waiting: list[str] = []
    try:
        for request in requests:
            waiting.append(batch_line(explainer.answer(request)))
            if len(waiting) >= _LINES_AT_ONCE:
                write("\n".join(waiting) + "\n")
                waiting.clear()
    finally:
        if waiting:
            write("\n".join(waiting) + "\n")


def _write_texts(explainer: Explainer, requests: Iterable[Request], *, lists_all: bool) -> None:
    from proxyctl.render.explain_text import explain_text

    for number, request in enumerate(requests):
        text = explain_text(explainer.answer(request), lists_all=lists_all, style=style())
        write(f"\n{text}" if number else text)
