import pytest

from proxyctl.config.load import ParsedFiles, Sources, load_project, rendered_texts
from proxyctl.errors import ConfigError
from tests.unit.config_files import load, mistakes, write

SERVERS = """
mysql_servers:
{% for n in range(count) %}
  - {hostgroup_id: {{ hostgroup }}, hostname: db{{ n }}}
{% endfor %}
"""


def render(folder, text, **variables):
    path = write(folder, text, "a.yaml.j2")
    return rendered_texts(Sources((path,), variables))[0].text


def said(folder, text, **variables):
    with pytest.raises(ConfigError) as caught:
        render(folder, text, **variables)
    return [mistake.text() for mistake in caught.value.mistakes]


def test_a_template_is_rendered_with_the_variables(tmp_path):
    project = load(tmp_path, SERVERS, name="a.yaml.j2", variables={"count": 3, "hostgroup": "10"})
    keys = list(project.desired.tables["mysql_servers"].rows)
    assert keys == [(10, "db0", 3306), (10, "db1", 3306), (10, "db2", 3306)]


def test_only_templates_are_rendered(tmp_path):
    text = "mysql_query_rules:\n  - {rule_id: 1, match_pattern: '{{ x }}'}\n"
    project = load(tmp_path, text)
    assert "{{ x }}" in project.desired.tables["mysql_query_rules"].rows[(1,)]


def test_var_files_come_first_and_the_command_line_wins(tmp_path):
    one = write(tmp_path, "a: 1\nb: {c: [w, x]}\n", "one.yaml")
    two = write(tmp_path, '{"a": 2, "d": 8.10}', "two.json")
    path = write(tmp_path, "# {{ a }} {{ b.c[1] }} {{ d }} {{ e }}", "a.yaml.j2")
    texts = rendered_texts(Sources((path,), {"e": "5"}, (one, two)))
    assert texts[0].text == "# 2 x 8.10 5"


def test_an_undefined_name_is_a_mistake_at_its_line(tmp_path):
    assert said(tmp_path, "a: 1\nb: {{ hostgroop }}\n", hostgroup=1) == [
        f"{tmp_path}/a.yaml.j2:2:1: template: 'hostgroop' is undefined\n"
        "  hint: did you mean 'hostgroup'?"
    ]


@pytest.mark.parametrize(
    "text",
    ["{% if %}", "{{ 1 / 0 }}", "{{ 'a' + 1 }}", "{{ [][5] }}", "{{ x.y.z }}"],
)
def test_what_goes_wrong_in_a_template_is_a_mistake(tmp_path, text):
    (found,) = said(tmp_path, "a: 1\n" + text, x={})
    assert found.startswith(f"{tmp_path}/a.yaml.j2:2:1: template: ")


def test_a_template_can_refuse_its_variables(tmp_path):
    text = "a: 1\n{% if count < 1 %}{{ fail('count=' ~ count ~ ': too few') }}{% endif %}"
    assert said(tmp_path, text, count=0) == [
        f"{tmp_path}/a.yaml.j2:2:1: template: count=0: too few"
    ]
    assert render(tmp_path, text, count=1) == "a: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ 'x' * 10 ** 9 }}",
        "{{ 10 ** 10000000 }}",
        "{% for n in range(10 ** 9) %}x{% endfor %}",
        "{% set _ = names.append(1) %}",
    ],
)
def test_the_sandbox_holds(tmp_path, text):
    assert "template: " in said(tmp_path, text, names=[])[0]


def test_the_output_is_bounded(tmp_path):
    text = "{% for a in range(1000) %}{% for b in range(1000) %}" + "x" * 100
    text += "{% endfor %}{% endfor %}"
    assert "renders to more than" in said(tmp_path, text)[0]


def test_an_include_stands_beside_the_template(tmp_path):
    write(tmp_path, "# included {{ a }}", "part.inc")
    assert render(tmp_path, "{% include 'part.inc' %}", a=1) == "# included 1"
    assert "no such file" in said(tmp_path, "{% include 'other.inc' %}")[0]


def test_a_mistake_in_an_include_names_the_include(tmp_path):
    write(tmp_path, "\n{{ nothing }}", "part.inc")
    assert said(tmp_path, "{% include 'part.inc' %}")[0].startswith(f"{tmp_path}/part.inc:2:1:")


def test_templates_see_neither_environment_nor_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("APP_PASSWORD", "hunter2")
    for text in ("{{ env }}", "{{ os.environ }}", "{{ environ('APP_PASSWORD') }}"):
        assert "hunter2" not in said(tmp_path, text)[0]


def test_lines_of_a_template_are_those_of_the_rendered_text(tmp_path):
    text = "{% for n in range(3) %}\n# {{ n }}\n{% endfor %}\nversion: 2\n"
    assert mistakes(tmp_path, text, name="a.yaml.j2") == [
        "8: version: expected 1, got the integer 2"
    ]
    with pytest.raises(ConfigError) as caught:
        load_project(Sources((str(tmp_path / "a.yaml.j2"),)))
    assert "proxyctl render --numbered" in caught.value.mistakes[0].text()


def test_instances_are_found_before_their_variables_are_known(tmp_path):
    write(tmp_path, "instances: [{name: px1, host: h, vars: {zone: eu}}]\n", "instances.yaml")
    write(tmp_path, "variables: {mysql-default_schema: '{{ zone }}'}\n", "variables.yaml.j2")
    sources = Sources((str(tmp_path),))
    (instance,) = ParsedFiles(sources).instances()
    assert instance.vars == {"zone": "eu"}
    project = load_project(Sources((str(tmp_path),), instance.vars))
    variables = project.desired.tables["mysql_variables"]
    assert list(variables.rows.values()) == [("mysql-default_schema", "eu")]
