"""`make sbom` lists what a release needs, with the versions and hashes of the lock."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools.sbom import LOCK, ROOT, SbomError, bill, collect, pinned

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def written(output: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.sbom", "--output", str(output)]
    environment = {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    content: dict[str, Any] = json.loads(output.read_text())
    return content


def test_the_list_names_every_part_with_its_version_and_hashes(tmp_path: Path) -> None:
    content = written(tmp_path / "sbom.json")
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert content["metadata"]["component"]["purl"] == f"pkg:pypi/barnabas@{PROJECT['version']}"
    assert content["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    parts = {each["name"]: each for each in content["components"]}
    locked = pinned()
    for name, part in parts.items():
        (distribution,) = part["externalReferences"]
        hashes = {each["content"] for each in distribution["hashes"]}
        assert hashes == set(locked[name][part["version"]])
        assert hashes
    assert parts["uvloop"]["scope"] == "required"
    assert parts["mdurl"]["scope"] == "required", "of markdown-it-py, of rich"
    assert parts["cryptography"]["scope"] == "optional"
    extras = [each["value"] for each in parts["cryptography"]["properties"]]
    assert extras == ["oauth", "security"]
    assert parts["typer"]["licenses"] == [{"expression": "MIT"}]
    assert not {"pytest", "mypy", "ruff", "pip"} & parts.keys(), "what development needs"


def test_dependencies_are_a_graph_of_the_parts(tmp_path: Path) -> None:
    content = written(tmp_path / "sbom.json")
    graph = {each["ref"]: each["dependsOn"] for each in content["dependencies"]}
    known = {each["bom-ref"] for each in content["components"]}
    me = content["metadata"]["component"]["bom-ref"]
    assert graph.keys() == known | {me}
    reached, todo = {me}, [me]
    while todo:
        new = set(graph[todo.pop()]) - reached
        reached |= new
        todo += new
    assert reached == graph.keys()
    assert not any("mdurl" in each for each in graph[me]), "Barnabas does not name it"


def test_the_same_parts_make_the_same_file(tmp_path: Path) -> None:
    assert written(tmp_path / "a.json") == written(tmp_path / "b.json")
    parts = collect(PROJECT, pinned())
    assert bill(PROJECT, parts, 1)["serialNumber"] != bill(PROJECT, parts, 2)["serialNumber"]


def test_another_version_than_that_of_the_lock_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "dev.txt"
    other.write_text(LOCK.read_text().replace("\nrich==", "\nrich==1.2.3+"))
    with pytest.raises(SbomError, match=r"rich .* is installed, but .* 1\.2\.3.*; run make setup"):
        collect(PROJECT, pinned(other))
