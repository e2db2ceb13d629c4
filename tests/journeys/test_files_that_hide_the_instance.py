"""A file that cannot be read may name the instance: nobody connects to another one instead."""

from __future__ import annotations

import pytest

from tests.journeys.command_lines import CONNECTING, Asked
from tests.journeys.story import said
from tests.support.cli import Project, proxyctl
from tests.support.parameters import crossed

ALSO_WITHOUT_FILES = {"nodes list", "nodes drain", "nodes restore", "doctor", "lint"}
"""What the files only add to: names of hostgroups, logins of members, what lint ignores."""

BROKEN = {
    "yaml": "version: 1\ninstances:\n  - {name: px1, host: 127.0.0.1, port: 1}\n  - {a\n",
    "section": "version: 1\ninstnces:\n  - {name: px1, host: 127.0.0.1, port: 1}\n",
    "template": "version: 1\ninstances:\n  - {name: px1, host: '{{ nowhere }}', port: 1}\n",
}


@pytest.mark.parametrize(("name", "kind"), crossed(CONNECTING, BROKEN))
def test_a_port_alone_takes_nobody_there(
    offline: Project, asked: Asked, name: str, kind: str
) -> None:
    """The host would come from the files, and the rest of the instance with it."""
    port, statements = asked
    path = f"proxyctl.yaml{'.j2' if kind == 'template' else ''}"
    offline.write(BROKEN[kind], path)
    said(proxyctl(*CONNECTING[name], "--port", str(port), "-f", path), 1, f"{path}:")
    said(proxyctl(*CONNECTING[name], "-f", path), 1, f"{path}:")
    said(proxyctl(*CONNECTING[name], "-f", path, "--instance", "px2"), 1, f"{path}:")
    assert not statements


@pytest.mark.parametrize("name", CONNECTING)
def test_a_file_that_is_not_there(offline: Project, asked: Asked, name: str) -> None:
    port, statements = asked
    for address in ((), ("--port", str(port)), ("--host", "127.0.0.1", "--port", str(port))):
        said(proxyctl(*CONNECTING[name], *address, "-f", "gone.yaml"), 1, "gone.yaml: ")
    assert not statements


@pytest.mark.parametrize("name", CONNECTING)
def test_a_link_that_leads_nowhere(offline: Project, asked: Asked, name: str) -> None:
    port, statements = asked
    (offline.folder / "proxyctl.yaml").symlink_to("gone.yaml")
    said(proxyctl(*CONNECTING[name], "--port", str(port)), 1, "proxyctl.yaml: ")
    (offline.folder / "other.yaml").write_text("version: 1\n")
    said(proxyctl(*CONNECTING[name], "--port", str(port), "-f", "."), 1, "proxyctl.yaml: ")
    assert not statements


@pytest.mark.parametrize("name", CONNECTING)
def test_a_file_that_was_named_counts_beside_an_address(
    offline: Project, asked: Asked, name: str
) -> None:
    port, statements = asked
    offline.write(BROKEN["yaml"])
    address = ("--host", "127.0.0.1", "--port", str(port))
    said(proxyctl(*CONNECTING[name], *address, "-f", "proxyctl.yaml"), 1, "proxyctl.yaml:5:")
    assert not statements


@pytest.mark.parametrize("name", sorted(ALSO_WITHOUT_FILES))
def test_the_default_file_is_left_out_beside_an_address(
    offline: Project, asked: Asked, name: str
) -> None:
    """Whoever drains a node in a hurry need not mend a file first that says nothing of that."""
    port, statements = asked
    offline.write(BROKEN["yaml"])
    found = proxyctl(*CONNECTING[name], "--host", "127.0.0.1", "--port", str(port))
    assert found.code == 0, found.text
    warned = "warning: the files are left out where they are wrong: proxyctl.yaml:5:"
    assert found.err.count(warned) == 1
    assert statements


def test_an_instance_that_brings_what_a_template_needs(offline: Project, asked: Asked) -> None:
    port, statements = asked
    listed = f"instances: [{{name: px1, host: 127.0.0.1, port: {port}, vars: {{weight: 7}}}}]\n"
    offline.write(listed, "a.yaml")
    offline.write("hostgroups: {reader: {id: 10, comment: '{{ weight }}'}}\n", "b.yaml.j2")
    for command in (("nodes", "list"), ("drift",), ("export",)):
        assert proxyctl(*command, "-f", ".").code in (0, 2)
    assert statements
    said(proxyctl("drift", "-f", ".", "--instance", "px2"), 64, "no such instance", "px1")
    said(proxyctl("drift", "-f", ".", "--host", "127.0.0.1"), 1, "b.yaml.j2:1:", "weight")


@pytest.mark.parametrize(("name", "kind"), crossed(["plan", "apply", "drift", "doctor"], BROKEN))
def test_all_instances(offline: Project, asked: Asked, name: str, kind: str) -> None:
    """Whether those that can be read are all, nobody knows."""
    port, statements = asked
    path = f"broken.yaml{'.j2' if kind == 'template' else ''}"
    offline.write(BROKEN[kind], path)
    said(proxyctl(name, "--all", "-f", path), 1, f"{path}:")
    offline.write(f"instances: [{{name: px9, host: 127.0.0.1, port: {port}}}]\n", "a.yaml")
    said(proxyctl(name, "--all", "-f", "."), 1, f"{path}:")
    assert not statements
