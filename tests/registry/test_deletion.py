"""Deleting versions, subjects and contexts."""

import pytest

from barnabas.registry.model.changes import set_config, set_mode
from barnabas.registry.model.contents import Reference
from barnabas.registry.model.deletion import delete_context, delete_subject, delete_version
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.model.lookups import Deleted, subjects_with, versions_of, with_id
from tests.registry.memory_registry import MemoryRegistry

A = '{"a": 1}'
AB = '{"a": 1, "b": 2}'


@pytest.fixture
def registry() -> MemoryRegistry:
    found = MemoryRegistry()
    found.register("s", A)
    found.register("s", AB)
    return found


def code(call: object) -> int:
    assert callable(call)
    with pytest.raises(RegistryRefusal) as error:
        call()
    return error.value.code


def test_a_version_is_hidden_then_gone(registry: MemoryRegistry) -> None:
    image = registry.image
    assert code(lambda: delete_version(image, "s", 1, permanent=True)) == 40407
    assert registry.commit(delete_version(image, "s", 1, permanent=False)) == 1
    assert code(lambda: delete_version(image, "s", 1, permanent=False)) == 40406
    assert [each.version for each in versions_of(image, "s")] == [2]
    assert with_id(image, 1).content.text == A
    registry.commit(delete_version(image, "s", 1, permanent=True))
    assert code(lambda: with_id(image, 1)) == 40403
    assert code(lambda: delete_version(image, "s", 1, permanent=True)) == 40402
    assert code(lambda: delete_version(image, "t", 1, permanent=True)) == 40401


def test_a_subject_is_hidden_then_gone(registry: MemoryRegistry) -> None:
    image = registry.image
    assert code(lambda: delete_subject(image, "s", permanent=True)) == 40405
    registry.commit(set_config(image, "s", {"compatibility": "NONE"}))
    registry.commit(set_mode(image, "s", "READWRITE"))
    assert registry.commit(delete_subject(image, "s", permanent=False)) == [1, 2]
    assert (image.config("s"), image.mode("s")) == (None, None)
    assert code(lambda: delete_subject(image, "s", permanent=False)) == 40404
    assert subjects_with(image) == []
    assert subjects_with(image, deleted=Deleted.ALONE) == ["s"]
    assert registry.commit(delete_subject(image, "s", permanent=True)) == [1, 2]
    assert code(lambda: delete_subject(image, "s", permanent=False)) == 40401


def test_settings_go_with_the_last_version(registry: MemoryRegistry) -> None:
    image = registry.image
    registry.commit(set_config(image, "s", {"compatibility": "NONE"}))
    registry.commit(delete_version(image, "s", None, permanent=False))
    assert image.config("s") is not None
    assert registry.commit(delete_version(image, "s", None, permanent=False)) == 1
    assert image.config("s") is None


def test_what_others_refer_to_stays(registry: MemoryRegistry) -> None:
    image = registry.image
    registry.register("t", A, references=(Reference("x", "s", 2),))
    assert code(lambda: delete_subject(image, "s", permanent=False)) == 42206
    assert code(lambda: delete_version(image, "s", 2, permanent=False)) == 42206
    registry.commit(delete_version(image, "s", 1, permanent=False))
    registry.commit(delete_subject(image, "t", permanent=False))
    registry.commit(delete_subject(image, "s", permanent=False))


def test_no_id_is_given_again_even_after_compaction(registry: MemoryRegistry) -> None:
    registry.commit(delete_version(registry.image, "s", 2, permanent=False))
    registry.commit(delete_version(registry.image, "s", 2, permanent=True))
    registry.image = registry.compacted()
    assert registry.register("s", '{"z": 1}').id == 3


def test_read_only_subjects_keep_their_versions(registry: MemoryRegistry) -> None:
    registry.commit(set_mode(registry.image, "s", "READONLY"))
    assert code(lambda: delete_subject(registry.image, "s", permanent=False)) == 42205
    assert code(lambda: delete_version(registry.image, "s", 1, permanent=False)) == 42205


def test_a_context_is_deleted_when_it_is_empty(registry: MemoryRegistry) -> None:
    registry.register(":.c:s", A)
    image = registry.image
    assert code(lambda: delete_context(image, ".c")) == 42211
    registry.commit(delete_subject(image, ":.c:s", permanent=False))
    assert code(lambda: delete_context(image, ".c")) == 42211
    registry.commit(delete_subject(image, ":.c:s", permanent=True))
    registry.commit(delete_context(image, ".c"))
    assert image.contexts == ["."]
    assert code(lambda: delete_context(image, ".")) == 42205
