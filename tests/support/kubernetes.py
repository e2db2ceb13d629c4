"""The example for Kubernetes: its objects, and its files with the paths and ports of a test."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "kubernetes"
FILES = EXAMPLE / "base" / "config"
SECRETS = "/run/secrets"
"""Where the pods have their Secrets."""

Object = dict[str, Any]


def objects_of(text: str) -> list[Object]:
    """Return the objects of a manifest."""
    return [document for document in yaml.safe_load_all(text) if document]


def base_objects() -> dict[tuple[str, str], Object]:
    """Return the objects of the base as they are written, by kind and name."""
    kustomization = yaml.safe_load((EXAMPLE / "base" / "kustomization.yaml").read_text("utf-8"))
    return {
        (resource["kind"], resource["metadata"]["name"]): resource
        for name in kustomization["resources"]
        for resource in objects_of((EXAMPLE / "base" / name).read_text("utf-8"))
    }


def container_of(workload: Object) -> Object:
    """Return the only container of a workload."""
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(found)


def write_secrets(folder: Path) -> None:
    """Write the folders of which the README makes Secrets, with its own commands."""
    commands = next(b for b in blocks(EXAMPLE / "README.md") if "mkdir" in b.text)
    subprocess.run(["bash", "-ec", commands.text], cwd=folder, check=True)


def localized(name: str, replacements: Mapping[str, str]) -> str:
    """Return the text of a file of the configuration with other paths and ports."""
    text = (FILES / name).read_text("utf-8")
    for old, new in replacements.items():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, new)
    return text
