"""The log in Confluent's format, and what it adds up to."""

import json

import pytest

from barnabas.registry.model.changes import (
    delete_config,
    delete_mode,
    reserve_ids,
    set_config,
    set_mode,
)
from barnabas.registry.model.contents import Json, Reference
from barnabas.registry.model.deletion import delete_subject, delete_version
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import (
    Deleted,
    holders_of_id,
    schemas_with,
    subject_of_alias,
    subjects_with,
    with_guid,
    with_id,
)
from tests.registry.memory_registry import MemoryRegistry

A = '{"a": 1}'
R = '{"name":"r","subject":"s","version":1}],"deleted":false}'
AB = '{"a": 1, "b": 2}'


def test_keys_are_byte_for_byte_those_of_confluent() -> None:
    registry = MemoryRegistry()
    registry.register(":.c:s", A)
    registry.commit(set_config(registry.image, None, {"compatibility": "full"}))
    registry.commit(set_mode(registry.image, ":.c:s", "READWRITE"))
    registry.commit(delete_subject(registry.image, ":.c:s", permanent=False))
    assert [each.key.decode() for each in registry.log] == [
        '{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}',
        '{"keytype":"SCHEMA","subject":":.c:s","version":1,"magic":1}',
        '{"keytype":"CONFIG","subject":null,"magic":0}',
        '{"keytype":"MODE","subject":":.c:s","magic":0}',
        '{"keytype":"DELETE_SUBJECT","subject":":.c:s","magic":0}',
        '{"keytype":"MODE","subject":":.c:s","magic":0}',
    ]
    assert json.loads(registry.log[1].value or b"") == {
        "subject": ":.c:s",
        "version": 1,
        "id": 1,
        "schema": A,
        "deleted": False,
    }
    assert json.loads(registry.log[2].value or b"") == {"compatibilityLevel": "FULL"}


def test_a_log_of_another_registry_is_read() -> None:
    image = RegistryImage()
    for key, value in (
        ('{"keytype":"NOOP","magic":0}', None),
        (
            '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            '{"subject":"s","version":1,"id":4,"md5":"x","schema":"\\"int\\"","deleted":false}',
        ),
        (
            '{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}',
            '{"subject":"s","version":2,"id":5,"schemaType":"PROTOBUF","schema":"x","references":['
            + R,
        ),
        ('{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', '{"subject":"s","version":1}'),
        ('{"keytype":"EXPORTER","name":"x"}', '{"some":"thing"}'),
        ("not JSON", "{}"),
        ("[]", "{}"),
        ('{"keytype":"SCHEMA","subject":"s","version":"x","magic":1}', "{}"),
    ):
        image.replay(key.encode(), None if value is None else value.encode())
    assert with_id(image, 4).deleted
    second = with_id(image, 5)
    assert second.content.kind == "PROTOBUF"
    assert second.content.references == (Reference("r", "s", 1),)
    assert image.next_id(".") == 6
    image.replay(b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}', b'{"subject":"s"}')
    with pytest.raises(RegistryRefusal):
        with_id(image, 4)
    image.replay(None, b"{}")


def test_a_replay_of_the_log_and_of_what_compaction_leaves_is_the_same() -> None:
    registry = MemoryRegistry()
    image = registry.image
    registry.register("s", A)
    registry.register("s", AB)
    registry.register("t", A)
    registry.register(":.c:s", A)
    registry.commit(set_config(image, "s", {"compatibility": "NONE", "alias": "t"}))
    registry.commit(delete_version(image, "s", 1, permanent=False))
    registry.commit(delete_version(image, "s", 1, permanent=True))
    registry.commit(delete_subject(image, "t", permanent=False))
    again = registry.compacted()
    for each in (image, again):
        assert subjects_with(each) == [":.c:s", "s"]
        assert subjects_with(each, deleted=Deleted.SHOWN) == [":.c:s", "s", "t"]
        assert each.config("s") == {"compatibilityLevel": "NONE", "alias": "t"}
        assert each.max_ids == {".": 2, ".c": 1}
        assert each.contexts == [".", ".c"]


def test_settings_come_from_the_nearest_scope() -> None:
    registry = MemoryRegistry()
    image = registry.image
    registry.commit(set_config(image, None, {"compatibility": "FULL", "normalize": True}))
    registry.commit(set_config(image, ":.c:", {"compatibility": "NONE"}))
    registry.commit(set_config(image, ":.c:s", {"alias": "t"}))
    assert image.config_in_force(":.c:s") == {
        "alias": "t",
        "compatibilityLevel": "NONE",
        "normalize": True,
    }
    assert image.config_in_force(":.c:t") == {"compatibilityLevel": "NONE", "normalize": True}
    assert image.config_in_force("s")["compatibilityLevel"] == "FULL"
    assert subject_of_alias(image, ":.c:s") == ":.c:t"
    assert subject_of_alias(image, ":.:x") == "x"
    registry.commit(set_config(image, None, {"normalize": None}))
    assert registry.commit(delete_config(image, None)) == {"compatibilityLevel": "FULL"}
    with pytest.raises(RegistryRefusal) as error:
        delete_config(image, "s")
    assert error.value.code == 40408


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"compatibility": "SOME"}, 42203),
        ({"normalize": "yes"}, 42200),
        ({"defaultRuleSet": []}, 42200),
    ],
)
def test_settings_that_make_no_sense(request_: dict[str, object], code: int) -> None:
    with pytest.raises(RegistryRefusal) as error:
        set_config(RegistryImage(), None, request_)  # type: ignore[arg-type]
    assert error.value.code == code


def test_modes_and_their_scopes() -> None:
    registry = MemoryRegistry()
    image = registry.image
    registry.register("s", A)
    with pytest.raises(RegistryRefusal, match="existing subjects"):
        set_mode(image, "s", "IMPORT")
    registry.commit(set_mode(image, "t", "IMPORT"))
    registry.commit(set_mode(image, "s", "IMPORT", force=True))
    assert image.mode_in_force("s") == "IMPORT"
    registry.commit(set_mode(image, None, "READONLY_OVERRIDE"))
    assert image.mode_in_force("s") == "READONLY_OVERRIDE"
    assert registry.commit(delete_mode(image, None)) == "READONLY_OVERRIDE"
    assert registry.commit(delete_mode(image, "s")) == "IMPORT"
    assert image.mode_in_force("s") == "READWRITE"
    with pytest.raises(RegistryRefusal) as error:
        delete_mode(image, "s")
    assert error.value.code == 40409
    with pytest.raises(RegistryRefusal) as error:
        set_mode(image, "s", "WRITE")
    assert error.value.code == 42204


def test_prefixes_and_contexts() -> None:
    registry = MemoryRegistry()
    for subject in ("a", "ab", "b", ":.c:a", ":.d:a"):
        registry.register(subject, A)
    registry.register("ab", AB)
    image = registry.image
    assert subjects_with(image, "a") == ["a", "ab"]
    assert subjects_with(image, "") == ["a", "ab", "b"]
    assert subjects_with(image, ":.c:") == [":.c:a"]
    assert subjects_with(image, ":*:a") == [":.c:a", ":.d:a", "a", "ab"]
    latest = schemas_with(image, "a", Deleted.HIDDEN, latest_only=True)
    assert [(each.subject, each.version) for each in latest] == [("a", 1), ("ab", 2)]
    assert with_id(image, 1, "a").subject == "a"
    assert with_id(image, 1, ":.d:").subject == ":.d:a"
    assert [each.subject for each in holders_of_id(image, 1, "", Deleted.HIDDEN)] == [
        "a",
        "ab",
        "b",
    ]
    guid = with_id(image, 2).content.guid
    assert with_guid(image, guid.upper()).id == 2


def test_a_subject_of_another_context_is_found_by_its_name() -> None:
    registry = MemoryRegistry()
    registry.register("x", A)
    registry.register(":.c:y", '{"y": 1}')
    assert with_id(registry.image, 1, "y").subject == ":.c:y"
    assert with_id(registry.image, 1, "x").subject == "x"


def test_ids_up_to_one_are_not_given_any_more() -> None:
    registry = MemoryRegistry()
    registry.register("s", '{"a": 1}')
    assert registry.commit(reserve_ids(registry.image, ".", 7)) == 7
    assert registry.commit(reserve_ids(registry.image, ".", 3)) == 7
    assert registry.commit(reserve_ids(registry.image, ".c", 5)) == 5
    assert registry.register("s", '{"b": 1}').id == 8
    assert registry.register(":.c:s", '{"b": 1}').id == 6
    assert registry.compacted().max_ids == {".": 8, ".c": 6}
    wrong: list[Json] = [-1, 2**31, True, "7", None]
    for each in wrong:
        with pytest.raises(RegistryRefusal, match="maxId has to be"):
            reserve_ids(registry.image, ".", each)
