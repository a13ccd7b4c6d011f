"""What is copied from a registry that has only Confluent's paths."""

from typing import Any

from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.registry.model.contents import Json
from barnabas.registry.transfer import Importer, exported

SCHEMA = {"subject": ":.c:s", "version": 1, "id": 1, "schema": '"int"'}
ANSWERS: dict[tuple[str, ...], Json] = {
    ("subjects",): [":.c:s"],
    ("subjects", ":.c:s", "versions"): [1],
    ("subjects", ":.c:s", "versions", "1"): {**SCHEMA},
    ("contexts",): [".", ".c"],
    ("config",): {"compatibilityLevel": "BACKWARD"},
    ("config", ":.c:"): {"compatibilityLevel": "FULL_TRANSITIVE"},
}


class Confluents(RegistryClient):
    """Answers as it does."""

    def __init__(self) -> None:
        super().__init__("http://localhost:1")

    def call(self, method: str, *path: str, body: Json = None, **query: Any) -> Json:
        del body, query
        if method != "GET" or path not in ANSWERS:
            raise RegistryAnswerError(40408 if path[0] == "config" else 404, "not found")
        return ANSWERS[path]


def test_settings_of_contexts_are_copied_and_the_rest_is_named() -> None:
    warnings: list[str] = []
    lines = [*exported(Confluents(), warnings.append)]
    assert lines == [
        SCHEMA,
        {"config": ANSWERS["config",]},
        {"config": ANSWERS["config", ":.c:"], "subject": ":.c:"},
    ]
    assert [each.partition(":")[2].split()[0] for each in warnings] == ["those", "those"]
    assert "names without versions" in warnings[0]
    assert "deleted for good" in warnings[1]


def test_largest_ids_that_are_not_taken_are_noted() -> None:
    importer = Importer(Confluents())
    assert importer.has_ids
    importer.add({"maxId": 7, "context": ".c"})
    importer.close()
    assert not importer.has_ids
