"""What the documentation of a check shows as bad is found, and what it shows as good is not."""

from __future__ import annotations

import re

import pytest

from proxyctl.config.project import Sources, load_project
from proxyctl.lint.check import all_checks
from proxyctl.lint.subject import Subject
from tests.unit.config_files import write

CHECKS = {code: one for code, one in all_checks().items() if code != "PX001"}
_EXAMPLE = re.compile(r"```yaml\n(# (Bad|Good).*?)```", re.DOTALL)


@pytest.mark.parametrize("code", CHECKS)
def test_the_examples_of_a_check(code, tmp_path):
    examples = _EXAMPLE.findall(CHECKS[code].documentation)
    assert [kind for _, kind in examples][:1] == ["Bad"]
    assert "Good" in [kind for _, kind in examples]
    for text, kind in examples:
        path = write(tmp_path, text)
        project = load_project(Sources((path,)), takes_dead_rules=True, needs_secrets=False)
        versions = re.findall(r"--backend-version (\S+)", text)
        subject = Subject(project.configuration, backend_versions=versions)
        found = list(CHECKS[code].findings(subject))
        assert bool(found) is (kind == "Bad"), text


@pytest.mark.parametrize("code", all_checks())
def test_the_documentation_of_a_check(code):
    check = all_checks()[code]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", check.name)
    assert check.summary.endswith(".")
    assert len(check.documentation.split("\n\n")) > 2
