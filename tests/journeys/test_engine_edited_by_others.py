"""The regular expression engine, edited in MEMORY by others, and let go along with an apply."""

from __future__ import annotations

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.failing import Once, fail
from tests.journeys.layers import dump, everywhere
from tests.journeys.story import applied, apply, plan, said
from tests.support.cli import Project
from tests.support.servers import Instance

INCLUDE = "--include-pending"
ENGINE = "mysql-query_processor_regex"
RULES = """\
mysql_query_rules:
  - {{rule_id: 1, match_pattern: '{}', destination_hostgroup: 20, apply: true}}
"""
FOR_PCRE, FOR_BOTH = "^SELECT (?=x)", "^SELECT x"
BAD = "not a regular expression for RE2"


def files(pattern: str, number: int) -> str:
    return f"variables: {{mysql-ping_timeout_server: {number}}}\n" + RULES.format(pattern)


def edit(instance: Instance, engine: int) -> None:
    instance.run(f"SET {ENGINE}={engine}")


def load(instance: Instance, *, save: bool) -> None:
    instance.run("LOAD MYSQL VARIABLES TO RUNTIME")
    if save:
        instance.run("SAVE MYSQL VARIABLES TO DISK")


@pytest.mark.parametrize("options", [[], ["--only", "MYSQL VARIABLES"], ["--no-save"], ["--force"]])
def test_a_pattern_that_it_does_not_compile_is_a_mistake(
    project: Project, instance: Instance, options: list[str]
) -> None:
    project.write(files(FOR_PCRE, 300))
    applied()
    edit(instance, 2)
    project.write(files(FOR_PCRE, 301))
    before = dump(instance)
    told = f"{ENGINE} is 2 in MEMORY, edited by others, and would go along (--include-pending)"
    said(apply(INCLUDE, *options), 1, "proxyctl.yaml:3:33", BAD, told)
    assert dump(instance) == before
    # Without it the edit is refused, and nothing is said of the pattern.
    found = apply()
    said(found, 3, f"mysql_variables {ENGINE}: variable_value edited in MEMORY")
    assert BAD not in found.text


def test_a_pattern_that_it_would_not_compile_after_a_restart_is_a_mistake(
    project: Project, instance: Instance
) -> None:
    project.write(files(FOR_PCRE, 300))
    applied()
    instance.run(
        "UPDATE disk.global_variables SET variable_value='301' WHERE variable_name="
        "'mysql-ping_timeout_server'"
    )
    edit(instance, 2)
    said(apply(INCLUDE), 1, BAD)


def test_rules_are_loaded_again_for_it(project: Project, instance: Instance) -> None:
    project.write(files(FOR_BOTH, 300))
    applied()
    edit(instance, 2)
    project.write(files(FOR_BOTH, 301))
    again = "MYSQL QUERY RULES   nothing changes; LOAD again, since the regular expression engine"
    assert again in plan(INCLUDE).out
    assert "LOAD MYSQL QUERY RULES TO RUNTIME" in applied(INCLUDE).text
    name = f"WHERE variable_name='{ENGINE}'"
    assert everywhere(instance, "SELECT variable_value FROM {}global_variables " + name) == [("2",)]
    assert plan().code == 0


def test_rules_are_loaded_again_also_where_no_file_has_them(
    project: Project, instance: Instance
) -> None:
    project.write("variables: {mysql-ping_timeout_server: 301}\n")
    edit(instance, 2)
    assert "LOAD MYSQL QUERY RULES TO RUNTIME" in applied(INCLUDE).text


def test_one_that_brings_the_right_engine_back_may_go_along(
    project: Project, instance: Instance
) -> None:
    project.write(files(FOR_PCRE, 300))
    applied()
    edit(instance, 2)
    load(instance, save=True)
    project.write(files(FOR_PCRE, 301))
    said(apply(), 1, BAD)
    edit(instance, 1)
    assert "LOAD MYSQL QUERY RULES TO RUNTIME" in applied(INCLUDE).text


def test_it_comes_back_before_the_rules_when_an_apply_fails(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    """Rules keep the engine that they were loaded with."""
    sandbox_project.write(files(FOR_BOTH, 300))
    applied()
    edit(sandbox_instance, 2)
    sandbox_project.write(files(FOR_BOTH, 301))
    before = dump(sandbox_instance)
    sent: list[str] = []
    fails = Once("SAVE MYSQL", fail)

    def note(sql: str) -> None:
        if fails.happened and sql.startswith("LOAD "):
            sent.append(sql)
        fails(sql)

    sandbox.options.before_statement = note
    said(apply(INCLUDE), 4, "everything was restored")
    assert sent == ["LOAD MYSQL VARIABLES TO RUNTIME", "LOAD MYSQL QUERY RULES TO RUNTIME"]
    assert dump(sandbox_instance) == before
