"""The command rules: how often query rules are hit."""

from __future__ import annotations

import time

import typer

from proxyctl.cli.connect import Place
from proxyctl.cli.options import FormatOption, TextFormat
from proxyctl.cli.output import columns, say, style, write
from proxyctl.errors import ExitCode


def rules(
    place: Place,
    interval: float | None = typer.Option(
        None,
        min=0.1,
        max=86_400,
        metavar="SECONDS",
        help="Read twice, this far apart, and show the hits per second in between.",
    ),
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Show the hits of query rules in force, and the rules without hits."""
    from proxyctl.render.rules import RULES, rules_text
    from proxyctl.stats.read import read_rule_hits
    from proxyctl.stats.rule_hits import rule_report

    with place.connect() as client:
        earlier = None
        sample = read_rule_hits(client)
        if interval is not None:
            say(f"waiting {interval:g} s for the second reading")
            time.sleep(interval)
            earlier, sample = sample, read_rule_hits(client)
        name = client.name
        report = rule_report(name, client.address, client.version_text, sample, earlier)
    if format is TextFormat.JSON:
        write(RULES.document(report))
    else:
        write(rules_text(report, style(), width=columns()))
    return ExitCode.DONE
