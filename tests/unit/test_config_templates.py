import pytest

from proxyctl.config.documents import read_source, template_variables
from proxyctl.config.files import Sources, load_project
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sources import ANYWHERE
from proxyctl.errors import ConfigError
from tests.unit.config_files import load, write

SERVERS = """
mysql_servers:
{% for n in range(count) %}
  - {hostgroup_id: {{ hostgroup }}, hostname: db{{ n }}}
{% endfor %}
"""


def rendered(sources):
    mistakes = Mistakes()
    variables = template_variables(sources, mistakes)
    text = read_source(sources.paths[0], variables, ANYWHERE, mistakes)
    mistakes.raise_if_any()
    return text


def render(folder, text, **variables):
    return rendered(Sources((write(folder, text, "a.yaml.j2"),), variables))


def mistakes(folder, text, **variables):
    with pytest.raises(ConfigError) as caught:
        render(folder, text, **variables)
    return [mistake.text() for mistake in caught.value.mistakes]


def test_only_templates_are_rendered(tmp_path):
    text = "mysql_query_rules:\n  - {rule_id: 1, match_pattern: '{{ x }}'}\n"
    project = load(tmp_path, text)
    assert "{{ x }}" in project.desired.tables["mysql_query_rules"].rows[(1,)]


def test_var_files_come_first_and_the_command_line_wins(tmp_path):
    one = write(tmp_path, "a: 1\nb: {c: [w, x]}\n", "one.yaml")
    two = write(tmp_path, '{"a": 2, "d": 8.1}', "two.json")
    path = write(tmp_path, "# {{ a }} {{ b.c[1] }} {{ d }} {{ e }}", "a.yaml.j2")
    assert rendered(Sources((path,), {"e": "5"}, (one, two))) == "# 2 x 8.1 5"


@pytest.mark.parametrize(
    "text",
    [
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{{ [][5] }}",
        "{{ x.y.z }}",
        "{{ range(1e999) }}",
        "{{ cycler() }}",
    ],
)
def test_what_goes_wrong_in_a_template_is_a_mistake(tmp_path, text):
    (found,) = mistakes(tmp_path, "a: 1\n" + text, x={})
    assert found.startswith(f"{tmp_path}/a.yaml.j2:2:1: template: ")


def test_a_template_can_refuse_its_variables(tmp_path):
    text = "a: 1\n{% if count < 1 %}{{ fail('count=' ~ count ~ ': too few') }}{% endif %}"
    assert mistakes(tmp_path, text, count=0) == [
        f"{tmp_path}/a.yaml.j2:2:1: template: count=0: too few"
    ]
    assert render(tmp_path, text, count=1) == "a: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''['__cla' ~ 'ss__'].__mro__[1].__subclasses__() }}",
        "{{ ['']|map(attribute='__class__.__mro__')|list }}",
        "{{ '{0.__class__.__init__.__globals__}'.format(x) }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ fail.__globals__.os.environ }}",
        "{{ self._TemplateReference__context.environment }}",
        "{% for n in range(10 ** 9) %}x{% endfor %}",
        "{% set _ = names.append(1) %}",
        "{% include '/etc/passwd' %}{{ x.nothing }}",
    ],
)
def test_nothing_of_python_is_in_reach(tmp_path, text):
    """Templates run in jinja2's own immutable sandbox."""
    (found,) = mistakes(tmp_path, text, x="", names=[])
    assert "template: " in found
    for word in ("<class", "<function", "<module", "environ(", "root:"):
        assert word not in found


def test_what_python_does_not_take_is_a_mistake(tmp_path):
    text = "{% for a in b %}" * 120 + "{% endfor %}" * 120
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(f"{tmp_path}/a.yaml.j2: template: nests too deeply: too many")


def test_a_var_file_is_read_even_without_a_template(tmp_path):
    path = write(tmp_path, "version: 1\n")
    for name, text in (("missing.yaml", None), ("list.yaml", "- a\n")):
        if text:
            write(tmp_path, text, name)
        with pytest.raises(ConfigError):
            load_project(Sources((path,), var_files=(str(tmp_path / name),)))


def test_the_output_is_bounded(tmp_path):
    text = "{% for a in range(1000) %}{% for b in range(1000) %}" + "x" * 100
    text += "{% endfor %}{% endfor %}"
    assert "renders to more than" in mistakes(tmp_path, text)[0]


def test_an_include_is_looked_up_beside_the_template(tmp_path):
    write(tmp_path, "# included {{ a }}", "part.inc")
    assert render(tmp_path, "{% include 'part.inc' %}", a=1) == "# included 1"
    assert "no such file" in mistakes(tmp_path, "{% include 'other.inc' %}")[0]


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'a.yaml.j2' %}",
        "{% include 'a.yaml.j2' %}" * 2,
        "{{ 1 }}" * 2000 + "{% include './a.yaml.j2' %}",
        "{% extends 'a.yaml.j2' %}",
        "{% import 'a.yaml.j2' as again with context %}",
    ],
)
def test_a_template_that_includes_itself_is_a_mistake(tmp_path, text):
    (found,) = mistakes(tmp_path, "a: 1\n" + text)
    assert found.startswith(f"{tmp_path}/a.yaml.j2:2:1: template: ")
    assert "nests too deeply" in found


def test_a_mistake_in_an_include_names_the_include(tmp_path):
    write(tmp_path, "\n{{ nothing }}", "part.inc")
    assert mistakes(tmp_path, "{% include 'part.inc' %}")[0].startswith(f"{tmp_path}/part.inc:2:1:")


def test_templates_see_neither_environment_nor_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("APP_PASSWORD", "hunter2")
    (tmp_path / "link").symlink_to("/proc/self/environ")
    environ = "{% set x %}{% include '/proc/self/environ' %}{% endset %}{{ x }}"
    for text in (
        *("{{ env }}", "{{ os.environ }}", "{{ environ('APP_PASSWORD') }}"),
        *(environ, "{% include 'link' %}"),
    ):
        assert "hunter2" not in mistakes(tmp_path, text)[0]
