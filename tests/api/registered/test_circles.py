"""References to the latest version may lead back: A to B, and a later version of B to A."""

from typing import Any

import pytest

from barnabas.console.schemas.registry import RegistryError, SchemaRegistry
from barnabas.errors import ValidationFailed
from barnabas.formats import Registry

_MOST = 10


class Circle:
    """A registry in which each schema refers to the other one."""

    def __init__(self) -> None:
        self.requests = 0

    def answer(self, *path: str, **_query: Any) -> dict[str, Any]:
        self.requests += 1
        other = "b" if path[-3:-2] == ("a",) else "a"
        reference = {"name": other, "subject": other, "version": -1}
        return {"schema": '"string"', "references": [reference]}


def test_a_client_ends_and_only_the_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    circle, registry = Circle(), Registry("http://localhost:1")
    monkeypatch.setattr(registry.client, "call", lambda _method, *path: circle.answer(*path))
    registry.load(1)
    with pytest.raises(ValidationFailed, match="refer to each other: a, b"):
        registry.schema(1)
    assert circle.requests < _MOST


def test_the_console_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    circle, registry = Circle(), SchemaRegistry("http://localhost:1")
    monkeypatch.setattr(registry, "_get", circle.answer)
    with pytest.raises(RegistryError, match="refer to each other"):
        registry._asked(1)
    assert circle.requests < _MOST
