"""Ids of schemas that a registry refuses: only what was written with them can't be read."""

from typing import Any

import pytest

from barnabas.client.consequences import Consequence, consequence_of
from barnabas.errors import ValidationFailed
from barnabas.formats import Registry
from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient


class Refusing(RegistryClient):
    """Knows the schema 1, and refuses all others with a code."""

    def __init__(self, code: int) -> None:
        super().__init__("http://localhost:1")
        self._code = code
        self.asked: list[tuple[str, ...]] = []

    def call(self, method: str, *path: str, body: Any = None, **query: Any) -> Any:
        self.asked.append(path)
        if path == ("schemas", "ids", "1"):
            return {"schema": '"long"'}
        raise RegistryAnswerError(self._code, "User app is denied operation READ on payroll-value")


def refusing(code: int) -> Registry:
    registry = Registry("http://localhost:1")
    registry.client = Refusing(code)
    return registry


@pytest.mark.parametrize("code", [404, 422, 40001, 40301, 40402, 40403, 40404, 42201])
def test_a_refused_id_is_known_to_be_refused(code: int) -> None:
    registry = refusing(code)
    for _ in range(2):  # it may be granted meanwhile, so it is asked for again
        registry.load(7)
        assert registry.is_known(7)
        with pytest.raises(ValidationFailed, match=r"http://localhost:1 .*schema 7"):
            registry.schema(7)
    registry.load(1)
    assert registry.schema(1).definition == '"long"'


def test_the_reason_is_named() -> None:
    registry = refusing(40301)
    registry.load(7)
    with pytest.raises(ValidationFailed, match="does not give schema 7: User app is denied"):
        registry.schema(7)


@pytest.mark.parametrize("code", [302, 401, 40101, 403, 405, 408, 42901, 429, 500, 50002, 503])
def test_what_hits_all_requests_is_raised(code: int) -> None:
    registry = refusing(code)
    with pytest.raises(RegistryAnswerError) as raised:
        registry.load(7)
    assert not registry.is_known(7)
    waits = code in (408, 429, 42901) or str(code).startswith("5")
    assert consequence_of(raised.value) is (Consequence.WAITS if waits else Consequence.STOPS)


def test_a_schema_that_refers_to_too_many_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = refusing(404)
    references = [{"name": f"r{n}", "subject": f"s{n}", "version": 1} for n in range(101)]

    def call(_method: str, *path: str, **_: Any) -> Any:
        return {"schema": '"long"'} | ({"references": references} if path[-1] == "7" else {})

    monkeypatch.setattr(registry.client, "call", call)
    registry.load(7)
    with pytest.raises(ValidationFailed, match="more than 100 others"):
        registry.schema(7)
