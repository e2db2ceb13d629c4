import os

import pytest

from proxyctl.cli.app import run
from proxyctl.config.documents import find_files
from proxyctl.config.files import ConfigFiles, load_project
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sources import Fence, Sources, UnreadableError, read_text
from proxyctl.errors import ConfigError, InstanceError


def test_a_folder_means_its_files_by_name(tmp_path):
    for name in ("b.yml", "a.yaml", "c.yaml.j2", ".hidden.yaml", "notes.txt", "data.csv"):
        (tmp_path / name).write_text("version: 1\n")
    (tmp_path / "below.yaml").mkdir()
    found = find_files((str(tmp_path),), Mistakes())
    assert [path.rpartition("/")[2] for path in found] == ["a.yaml", "b.yml", "c.yaml.j2"]


def test_a_file_counts_once_however_it_is_named(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("mysql_servers:\n  - {hostgroup_id: 1, hostname: db1}\n")
    sources = Sources((str(path), str(tmp_path), f"{tmp_path}/./a.yaml"))
    assert len(load_project(sources).desired.tables["mysql_servers"].rows) == 1


def mistakes(sources):
    with pytest.raises(ConfigError) as caught:
        load_project(sources)
    return [mistake.text() for mistake in caught.value.mistakes]


def test_a_missing_file_may_have_another_ending(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proxyctl.yml").write_text("version: 1\n")
    assert "did you mean 'proxyctl.yml'?" in mistakes(Sources())[0]


def test_an_empty_folder_is_a_mistake(tmp_path):
    assert "no *.yaml, *.yml or *.j2 file" in mistakes(Sources((str(tmp_path),)))[0]


def test_a_link_that_leads_nowhere_is_a_mistake(tmp_path):
    """The target is unknown: its rows must not be deleted as if the files lacked them."""
    (tmp_path / "a.yaml").write_text("version: 1\n")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "gone.yaml")
    with pytest.raises(ConfigError) as caught:
        load_project(Sources((str(tmp_path),)))
    assert caught.value.mistakes[0].path == str(tmp_path / "b.yaml")
    assert caught.value.mistakes[0].message == "no such file or directory"


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\n")
    assert read_text(str(path)) == "version: 1\n"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# " + "x" * 5000)
    with pytest.raises(UnreadableError, match="larger than 1 KB"):
        read_text(str(path), limit=1024)


def test_a_fence_keeps_paths_inside(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (tmp_path / "in-other").mkdir()
    fence = Fence.around(Sources((str(inside),), restrict_paths=True))
    assert fence.path("sub/x.csv", str(inside)) == str(inside / "sub/x.csv")
    for name in ("../out/x", str(outside / "x"), "link/x", "../in-other/x", "/etc/passwd"):
        with pytest.raises(UnreadableError, match="leads out of the folders"):
            fence.path(name, str(inside))


def test_restricted_paths_hold_for_everything_a_file_names(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    for name in ("secret", "x.csv", "x.jsonl", "x.j2"):
        (tmp_path / name).write_text("x")
    (inside / "a.yaml").write_text(
        "mysql_users:\n  - {username: a, password: {file: ../secret}}\n"
        "mysql_servers: {csv: ../x.csv}\nscheduler: {jsonl: ../x.jsonl}\n"
    )
    (inside / "b.yaml.j2").write_text("{% include '../x.j2' %}")
    (inside / "c.yaml").write_text(
        "instances:\n  - {name: a, host: a, tls_ca: /etc/passwd}\n"
        f"  - {{name: b, host: b, tls_ca: {inside}/../secret}}\n"
    )
    found = mistakes(Sources((str(inside),), restrict_paths=True))
    assert len(found) == 6
    assert all("leads out of the folders" in text for text in found)


def test_restricted_paths_hold_for_the_files_themselves(tmp_path):
    """A pull request can link to any file, and an error about the file would show its content."""
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "shadow").write_text("daemon:x:0:0\n")
    (inside / "a.yaml").symlink_to(tmp_path / "shadow")
    (inside / "vars.yaml").symlink_to(tmp_path / "shadow")
    for sources in (
        Sources((str(inside),), restrict_paths=True),
        Sources((str(inside / "a.yaml"),), restrict_paths=True),
        Sources((), var_files=(str(inside / "vars.yaml"),), restrict_paths=True),
    ):
        found = mistakes(sources)
        assert found
        assert all("leads out of the folders" in text for text in found)
        assert "daemon" not in "".join(found)


def test_a_ca_that_becomes_a_link_after_it_was_looked_at_is_not_read(tmp_path):
    inside, ca = tmp_path / "in", tmp_path / "in" / "ca.pem"
    inside.mkdir()
    ca.write_text("# größe\nours")
    (inside / "a.yaml").write_text(f"instances: [{{name: a, host: a, tls_ca: {ca}}}]")
    (found,) = ConfigFiles(Sources((str(inside),), restrict_paths=True)).instances()
    assert found.certificates() == "# gre\nours"
    ca.unlink()
    (tmp_path / "elsewhere").write_text("theirs")
    ca.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InstanceError, match="leads out of the folders"):
        found.certificates()


def test_no_file_shows_a_process(tmp_path):
    """The environment has passwords, and an error about a file shows what it holds."""
    (tmp_path / "environ").symlink_to("/proc/self/environ")
    (tmp_path / "a.yaml").write_text(
        "mysql_users:\n  - {username: a, password: {file: environ}}\n"
        "mysql_servers: {csv: /proc/self/cmdline}\n"
    )
    found = mistakes(Sources((str(tmp_path / "a.yaml"), "/proc/self/environ")))
    assert len(found) == 3
    assert all("a file of /proc, which shows processes" in text for text in found)


def test_links_in_a_circle_are_a_mistake(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a.yaml").write_text(
        "mysql_users:\n  - {username: a, password: {file: loop}}\nmysql_servers: {csv: loop}\n"
    )
    for is_restricted in (False, True):
        found = mistakes(Sources((str(tmp_path),), restrict_paths=is_restricted))
        assert len(found) == 2
        assert all("too many levels of symbolic links" in text.lower() for text in found)


def test_a_pipe_is_no_file_of_the_configuration(tmp_path):
    """Reading it would wait for somebody who writes."""
    for name in ("secret", "x.csv", "b.yaml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "a.yaml").write_text(
        "mysql_users:\n  - {username: a, password: {file: secret}}\nmysql_servers: {csv: x.csv}\n"
    )
    found = mistakes(Sources((str(tmp_path),)))
    assert len(found) == 3
    assert all("a pipe or a device, not a file" in text for text in found)


def test_a_pipe_of_the_shell_is_read():
    read, write = os.pipe()
    with os.fdopen(write, "w") as file:
        file.write("version: 1\n")
    load_project(Sources((f"/dev/fd/{read}",)))
    os.close(read)


def test_a_link_inside_the_folder_is_fine(tmp_path):
    """Kubernetes mounts every file of a ConfigMap as a link inside the folder."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "a.yaml").write_text("version: 1\n")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    load_project(Sources((str(tmp_path),), restrict_paths=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--var", "a=1", "--var", "a=2"], "--var a: defined twice"),
        (["--var", "my-env=1"], "--var my-env: expected NAME=VALUE"),
        (["-f", ""], "--file: the path is empty"),
    ],
)
def test_options_about_files_that_make_no_sense(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    assert run(["validate", *options]) == 64
    assert message in capsys.readouterr().err
