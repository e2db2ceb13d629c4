"""The example for Kubernetes: objects, names that have to fit, and what it runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from prometheus_client import CollectorRegistry

from proxyctl import __version__
from proxyctl.catalog.variables import VARIABLES
from proxyctl.watch.server import ServedWatch
from tests.docs.workflows import parse
from tests.support.commands.cli import Project, proxyctl
from tests.support.kubernetes import (
    EXAMPLE,
    FILES,
    SECRETS,
    Object,
    base_objects,
    container_of,
    localized,
    objects_of,
    write_secrets,
)
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance

OVERLAYS = ("base", "report-only", "git-sync")
VERSIONS = ("1.29", kubernetes_validate.latest_version())
"""The oldest that the README names, and the newest whose schemas are here."""
BASE = base_objects()
PROXYSQL, WATCH = BASE["StatefulSet", "proxysql"], BASE["Deployment", "proxyctl"]
WORKLOADS = pytest.mark.parametrize("workload", [PROXYSQL, WATCH], ids=["proxysql", "proxyctl"])
NO_KUSTOMIZE = "no kustomize and no kubectl on PATH: the overlays are not built"


def built(overlay: str) -> list[Object]:
    """Build an overlay as `kubectl apply -k` does, or skip the test."""
    if kustomize := shutil.which("kustomize"):
        command = [kustomize, "build"]
    else:
        command = [shutil.which("kubectl") or pytest.skip(NO_KUSTOMIZE), "kustomize"]
    done = subprocess.run(
        [*command, EXAMPLE / overlay], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return objects_of(done.stdout)


def pod_of(workload: Object) -> Object:
    return dict(workload["spec"]["template"]["spec"])


def check(objects: list[Object], *versions: str) -> None:
    """Compare objects with the schemas, which here allow no unknown key."""
    for version in versions:
        for manifest in objects:
            kubernetes_validate.validate(manifest, version, strict=True)


# The objects --------------------------------------------------------------------------------------


def test_the_objects_follow_the_schemas_of_kubernetes() -> None:
    check([*BASE.values()], *VERSIONS)


def test_a_wrong_object_would_be_noticed() -> None:
    wrong = {**PROXYSQL, "spec": {**PROXYSQL["spec"], "replica": 3}}
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        check([wrong], *VERSIONS)


def test_kustomizations_name_files_that_are_there() -> None:
    for file in EXAMPLE.glob("*/kustomization.yaml"):
        found = yaml.safe_load(file.read_text("utf-8"))
        paths = [
            path for generator in found.get("configMapGenerator", []) for path in generator["files"]
        ]
        paths += [patch["path"] for patch in found.get("patches", []) if "path" in patch]
        assert all((file.parent / path).exists() for path in (*found["resources"], *paths)), file


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_can_be_built(overlay: str) -> None:
    check(built(overlay), VERSIONS[0])


def test_the_image_has_the_version_of_proxyctl() -> None:
    found = yaml.safe_load((EXAMPLE / "base" / "kustomization.yaml").read_text("utf-8"))
    assert {image["name"]: image["newTag"] for image in found["images"]}["proxyctl"] == __version__


def test_report_only_differs_by_the_apply_alone() -> None:
    base, reports = built("base"), built("report-only")
    (watch,) = (manifest for manifest in base if manifest["kind"] == "Deployment")
    container = watch["spec"]["template"]["spec"]["containers"][0]
    container["args"].remove("--apply")
    assert base == reports


def test_git_sync_writes_the_folder_that_the_watch_reads() -> None:
    objects = built("git-sync")
    (watch,) = (manifest for manifest in objects if manifest["kind"] == "Deployment")
    (sidecar,) = pod_of(watch)["initContainers"]
    options = dict(argument.split("=", 1) for argument in sidecar["args"])
    environment = {variable["name"]: variable["value"] for variable in container_of(watch)["env"]}
    checkout = f"{options['--root']}/{options['--link']}"
    assert Path(environment["PROXYCTL_FILE"]).parent == Path(checkout)
    mounted = [container_of(watch)["volumeMounts"], sidecar["volumeMounts"]]
    assert all("/git" in [mount["mountPath"] for mount in mounts] for mounts in mounted)
    assert {
        manifest["metadata"]["name"] for manifest in objects if manifest["kind"] == "ConfigMap"
    } != {"proxyctl-files"}


# Names that have to fit ---------------------------------------------------------------------------


@WORKLOADS
def test_volumes_are_mounted(workload: Object) -> None:
    mounted = {mount["name"] for mount in container_of(workload)["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod_of(workload)["volumes"]}


@WORKLOADS
def test_selectors_find_the_pods(workload: Object) -> None:
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"] == labels
    name = labels["app.kubernetes.io/name"]
    others = [
        manifest
        for (kind, _), manifest in BASE.items()
        if kind not in ("StatefulSet", "Deployment")
    ]
    mine = [manifest for manifest in others if manifest["metadata"]["labels"] == labels]
    assert mine, name
    for manifest in mine:
        spec = manifest["spec"]
        selector = spec.get("podSelector") or spec["selector"]
        assert selector.get("matchLabels", selector) == labels


@WORKLOADS
def test_ports_have_names(workload: Object) -> None:
    """Services, policies and probes name ports; the annotation for Prometheus has the number."""
    container = container_of(workload)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    labels = workload["spec"]["template"]["metadata"]["labels"]
    named = [
        port.get("targetPort", port["port"])
        for manifest in BASE.values()
        if manifest["kind"] in ("Service", "NetworkPolicy")
        and manifest["metadata"]["labels"] == labels
        for port in (
            manifest["spec"].get("ports", [])
            + [port for rule in manifest["spec"].get("ingress", []) for port in rule["ports"]]
        )
    ]
    probes = [probe for key, probe in container.items() if key.endswith("Probe")]
    named += [(probe.get("httpGet") or probe["tcpSocket"])["port"] for probe in probes]
    assert set(named) <= ports.keys()
    annotations = workload["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["metrics"])


def test_config_maps_have_the_files() -> None:
    found = yaml.safe_load((EXAMPLE / "base" / "kustomization.yaml").read_text("utf-8"))
    made = {generator["name"] for generator in found["configMapGenerator"]}
    used = {
        volume["configMap"]["name"]
        for workload in (PROXYSQL, WATCH)
        for volume in pod_of(workload)["volumes"]
        if "configMap" in volume
    }
    assert made == used


def test_the_commands_of_the_readme_make_the_secrets(tmp_path: Path) -> None:
    write_secrets(tmp_path)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    texts = [file.read_text("utf-8") for file in FILES.iterdir()]
    read = {path for text in texts for path in re.findall(rf"{SECRETS}/([\w./-]+)", text)}
    assert read == written
    mounted = {
        f"{mount['mountPath'].removeprefix(SECRETS + '/')}/{item}"
        for workload in (PROXYSQL, WATCH)
        for volume in pod_of(workload)["volumes"]
        for mount in container_of(workload)["volumeMounts"]
        if mount["name"] == volume["name"] and "secret" in volume
        for item in keys_of(volume["secret"], written)
    }
    assert mounted == written
    text = (EXAMPLE / "README.md").read_text("utf-8")
    made = re.findall(r"kubectl create secret generic (\S+) --from-file=(\S+)", text)
    assert {*made} == {(path.split("/")[0],) * 2 for path in written}


def keys_of(secret: Object, written: set[str]) -> list[str]:
    """Return the files that a Secret gives to a pod."""
    if "items" in secret:
        return [item["path"] for item in secret["items"]]
    folder = secret["secretName"]
    return [path.partition("/")[2] for path in written if path.startswith(f"{folder}/")]


def test_only_pods_without_a_configuration_are_not_ready() -> None:
    """The probe asks a port that is closed until the files have been applied."""
    port = container_of(PROXYSQL)["readinessProbe"]["tcpSocket"]["port"]
    number = {entry["name"]: entry["containerPort"] for entry in container_of(PROXYSQL)["ports"]}[
        port
    ]
    assert VARIABLES["admin-restapi_enabled"].default == "false"
    assert VARIABLES["admin-restapi_port"].default == str(number)
    variables = yaml.safe_load((FILES / "proxyctl.yaml").read_text("utf-8"))["variables"]
    assert variables["admin-restapi_enabled"] is True
    assert "restapi" not in (FILES / "proxysql.cnf").read_text("utf-8")
    assert BASE["Service", "proxysql-pods"]["spec"]["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in BASE["Service", "proxysql"]["spec"]


# What runs ----------------------------------------------------------------------------------------


def test_the_command_line_is_understood() -> None:
    parse([*container_of(WATCH)["args"]])


def test_the_commands_in_the_pod_are_understood() -> None:
    page = (ROOT / "docs" / "how-to" / "on-kubernetes.md").read_text("utf-8")
    commands = re.findall(r"kubectl exec .* -- proxyctl (.*)", page)
    assert commands
    for command in commands:
        parse(command.split())


def test_the_probes_ask_what_the_watch_serves() -> None:
    container = container_of(WATCH)
    port = container["ports"][0]["containerPort"]
    assert f"--metrics=0.0.0.0:{port}" in container["args"]
    watch = ServedWatch(CollectorRegistry(), lambda: True, lambda: True)
    for probe in ("livenessProbe", "readinessProbe"):
        status, _, body = watch.answer(container[probe]["httpGet"]["path"], "")
        assert (status, body) == (200, b"ok\n")


def test_the_configuration_can_be_applied(sandbox_instance: Instance, offline: Project) -> None:
    write_secrets(offline.folder)
    offline.write(localized("proxyctl.yaml", {SECRETS: str(offline.folder)}))
    offline.connect(sandbox_instance)
    for command in ("validate", "apply --auto-approve", "plan --detailed-exitcode"):
        done = proxyctl(*command.split())
        assert done.code == 0, done.text
    assert proxyctl("lint").text == "Nothing found.\n"
    tested: dict[str, Any] = proxyctl("test", "--coverage", "--format", "json").json
    assert tested["unreached_rules"] == []
