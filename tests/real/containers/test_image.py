"""The image of proxyctl: it is built from the Dockerfile, and applies to a ProxySQL."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from testcontainers.core.network import Network

from tests.real.containers.images import PYTHON
from tests.real.containers.proxysql import ProxySQLContainer
from tests.support.paths import ROOT
from tests.support.servers.instances import REMOTE_ADMIN

IMAGE = "proxyctl-test/proxyctl"


def docker(*arguments: str) -> str:
    """Run docker; return its output."""
    return run(*arguments).stdout


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run docker, which has to succeed."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    docker("build", "--build-arg", f"BASE={PYTHON}", "--tag", IMAGE, str(ROOT))
    yield IMAGE
    docker("image", "rm", "--force", IMAGE)


def test_the_image_does_not_run_as_root(image: str) -> None:
    assert docker("image", "inspect", "--format", "{{.Config.User}}", image).strip() == "10001"
    assert docker("run", "--rm", image, "--version").startswith("proxyctl ")


def test_a_start_compiles_no_module(image: str) -> None:
    messages = run("run", "--rm", "--env", "PYTHONVERBOSE=1", image, "plan", "--help").stderr
    modules = re.findall(r"^# code object from (\S+)$", messages, re.MULTILINE)
    assert "proxyctl/cli/app" in messages
    assert [module for module in modules if module.endswith(".py")] == []


def test_the_image_applies_the_files_of_the_folder(
    image: str, proxysql: ProxySQLContainer, network: Network, tmp_path: Path
) -> None:
    file = tmp_path / "proxyctl.yaml"
    file.write_text("version: 1\nmysql_query_rules: [{rule_id: 7, match_digest: ^SELECT 1}]\n")
    tmp_path.chmod(0o755)
    user, password = REMOTE_ADMIN

    def proxyctl(*arguments: str) -> str:
        login = ("--env", f"PROXYCTL_USER={user}", "--env", f"PROXYCTL_PASSWORD={password}")
        host = ("--env", f"PROXYCTL_HOST={proxysql.host}", "--network", network.name)
        return docker(
            "run", "--rm", "--volume", f"{tmp_path}:/work", *login, *host, image, *arguments
        )

    assert "rule 7" in proxyctl("plan")
    assert "1 added" in proxyctl("apply", "--auto-approve")
    assert "No changes" in proxyctl("plan")
