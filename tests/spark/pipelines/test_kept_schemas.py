"""Which versions of a registered schema a pipeline has its columns from."""

from pathlib import Path
from typing import Any

import pytest

from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.spark.pipelines.kept_schemas import KeptSchemas

ADDRESS = RegistryAddress("http://registry")


@pytest.fixture
def latest(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The id of the latest version; `asked` counts."""
    state: dict[str, Any] = {"id": 1, "asked": 0}

    def answer(_: Registry, subject: str) -> SubjectVersion:
        state["asked"] += 1
        return SubjectVersion(subject, state["id"], RegisteredSchema(state["id"], "AVRO", "{}"))

    monkeypatch.setattr(Registry, "latest", answer)
    return state


def ids(kept: KeptSchemas, evolve: Any = None, subject: str = "orders-value") -> list[int]:
    return [each.id for each in kept.of("orders", ADDRESS, subject, evolve)]


def test_a_pipeline_that_has_run_keeps_its_versions(tmp_path: Path, latest: dict[str, Any]) -> None:
    file = tmp_path / "made" / "schemas.json"
    assert ids(KeptSchemas(file, has_run=False)) == [1]
    latest["id"] = 2
    assert ids(KeptSchemas(file, has_run=False)) == [2]  # it has not begun yet
    latest["id"] = 3
    assert ids(KeptSchemas(file, has_run=True)) == [2]
    assert latest["asked"] == 2
    assert ids(KeptSchemas(file, has_run=True), "add") == [2, 3]
    latest["id"] = 4
    assert ids(KeptSchemas(file, has_run=True)) == [2, 3]
    assert ids(KeptSchemas(file, has_run=True), "add") == [2, 3, 4]
    latest["id"] = 3
    assert ids(KeptSchemas(file, has_run=True), "add") == [2, 4, 3]  # the newest is last


def test_another_subject_is_another_schema(tmp_path: Path, latest: dict[str, Any]) -> None:
    file = tmp_path / "schemas.json"
    ids(KeptSchemas(file, has_run=True))
    latest["id"] = 2
    assert ids(KeptSchemas(file, has_run=True), subject="others-value") == [2]


def test_one_start_asks_once(latest: dict[str, Any]) -> None:
    kept = KeptSchemas()
    assert ids(kept) == ids(kept) == [1]
    assert latest["asked"] == 1


def test_several_sources_keep_theirs(tmp_path: Path, latest: dict[str, Any]) -> None:
    def both() -> list[int]:
        kept = KeptSchemas(tmp_path / "schemas.json", has_run=True)
        return [kept.of(name, ADDRESS, "s", None)[-1].id for name in ("orders", "users")]

    assert both() == [1, 1]
    latest["id"] = 2
    assert both() == [1, 1]
