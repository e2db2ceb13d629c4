"""PX402 replacement-dollar."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rewriting import rewriting
from proxyctl.lint.subject import RULES, Subject

_OTHER_DIALECT = re.compile(r"\$\d|\$\{\d")


@check("PX402", "replacement-dollar", Severity.WARNING)
def dollar_groups(subject: Subject) -> Iterator[Finding]:
    r"""A replace_pattern with `$1`, as other tools write a group.

    ProxySQL writes a group as `\1`. `$1` stands for itself: the backend gets these two characters.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM $1_v2'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM \1_v2'}
    ```
    """
    for row, _, template in rewriting(subject):
        found = _OTHER_DIALECT.search(template)
        if found and row.rule and row.rule.match_pattern and row.rule.match_pattern.groups:
            number = re.sub(r"\D", "", found[0])
            message = f"{found[0]} is no group here, but text that goes to the backend"
            yield Finding(RULES, row.key, message, "replace_pattern", f"write \\{number}")
