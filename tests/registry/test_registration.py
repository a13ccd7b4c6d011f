"""What is decided when a schema is registered."""

from hashlib import md5
from uuid import UUID

import pytest

from barnabas.registry.model.changes import set_config, set_mode
from barnabas.registry.model.contents import JsonObject, Reference, SchemaContent
from barnabas.registry.model.deletion import delete_subject
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.model.records import config_record
from barnabas.registry.model.registration import WantedSchema, register
from tests.registry.memory_registry import MemoryRegistry

A = '{"a": 1}'
AB = '{"a": 1, "b": 2}'


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


def refusal(error: pytest.ExceptionInfo[RegistryRefusal]) -> tuple[int, str]:
    return error.value.code, str(error.value)


def test_versions_and_ids_count_from_one(registry: MemoryRegistry) -> None:
    assert (registry.register("s", A).version, registry.register("s", AB).id) == (1, 2)
    other = registry.register("t", AB)
    assert (other.version, other.id) == (1, 2)


def test_what_is_registered_already_is_not_written_again(registry: MemoryRegistry) -> None:
    first = registry.register("s", A)
    written = len(registry.log)
    assert registry.register("s", '{ "a":1 }') == first
    assert len(registry.log) == written


def test_kinds_with_the_same_text_have_ids_of_their_own(registry: MemoryRegistry) -> None:
    assert registry.register("s", A).id == 1
    assert registry.register("t", A, kind="JSON").id == 2


def test_the_refusal_names_field_and_version(registry: MemoryRegistry) -> None:
    registry.register("s", A)
    with pytest.raises(RegistryRefusal) as error:
        registry.register("s", '{"a": 1, "c": null}')
    code, text = refusal(error)
    assert code == 40901
    assert "field c of version 1" in text
    assert "compatibility: 'BACKWARD'" in text


@pytest.mark.parametrize(
    ("level", "passes"), [("NONE", True), ("BACKWARD", True), ("BACKWARD_TRANSITIVE", False)]
)
def test_the_level_of_the_subject_counts(
    registry: MemoryRegistry, level: str, *, passes: bool
) -> None:
    registry.register("s", A)
    registry.register("s", '{"a": 1, "c": 1}')
    registry.commit(set_config(registry.image, "s", {"compatibility": level}))
    if passes:
        assert registry.register("s", '{"a": 1, "c": null}').version == 3
    else:
        with pytest.raises(RegistryRefusal, match="version 1"):
            registry.register("s", '{"a": 1, "c": null}')


def test_only_versions_of_the_group_are_compared(registry: MemoryRegistry) -> None:
    registry.commit(set_config(registry.image, "s", {"compatibilityGroup": "major"}))
    first: JsonObject = {"properties": {"major": "1"}}
    second: JsonObject = {"properties": {"major": "2"}}
    registry.register("s", A, metadata=first)
    assert registry.register("s", '{"c": null}', metadata=second).version == 2
    with pytest.raises(RegistryRefusal):
        registry.register("s", '{"a": 1, "d": null}', metadata=second)


def test_metadata_and_rules_are_merged_and_inherited(registry: MemoryRegistry) -> None:
    config: JsonObject = {
        "defaultMetadata": {"properties": {"owner": "nobody", "team": "x"}},
        "overrideMetadata": {"properties": {"env": "prod"}},
        "defaultRuleSet": {"domainRules": [{"name": "r", "type": "CEL", "expr": "1"}]},
    }
    registry.commit(set_config(registry.image, None, config))
    first = registry.register("s", A, metadata={"properties": {"owner": "me", "env": "dev"}})
    assert first.content.metadata == {"properties": {"owner": "me", "team": "x", "env": "prod"}}
    assert first.content.rules == config["defaultRuleSet"]
    second = registry.register("s", AB)
    assert second.content.metadata == first.content.metadata
    assert registry.look_up("s", AB) == second
    again = registry.register("s", AB)
    assert again == second


def test_a_schema_without_a_text_has_that_of_the_latest(registry: MemoryRegistry) -> None:
    registry.register("s", A)
    second = registry.register("s", "", metadata={"properties": {"k": "v"}})
    assert (second.version, second.id, second.content.text) == (2, 2, A)
    with pytest.raises(RegistryRefusal) as error:
        registry.register("t", "")
    assert refusal(error) == (42201, "Empty schema")


def test_a_version_that_is_asked_for_is_named_in_metadata(registry: MemoryRegistry) -> None:
    found = registry.register("s", A, version=-1)
    assert found.content.metadata == {"properties": {"confluent:version": "1"}}
    assert registry.register("s", AB, version=2).content.metadata == {
        "properties": {"confluent:version": "2"}
    }
    with pytest.raises(RegistryRefusal, match="one more than"):
        registry.register("s", '{"a": 2}', version=7)


@pytest.mark.parametrize("setting", ["defaultRuleSet", "overrideRuleSet"])
def test_a_rule_set_in_settings_is_checked_too(registry: MemoryRegistry, setting: str) -> None:
    config: JsonObject = {setting: {"domainRules": [{"name": []}]}}
    with pytest.raises(RegistryRefusal) as caught:
        set_config(registry.image, "s", config)
    assert refusal(caught) == (42210, "Invalid rule set: a rule of domainRules has no name")
    registry.write([config_record("s", config)])  # of an earlier version, or by another registry
    with pytest.raises(RegistryRefusal) as caught:
        registry.register("s", A, rules={"domainRules": [{"name": "a", "type": "CEL"}]})
    assert caught.value.code == 42210
    registry.commit(set_config(registry.image, "s", {setting: None}))
    registry.register("s", A, rules={"domainRules": [{"name": "a", "type": "CEL"}]})


def test_a_rule_set_that_clients_refuse_is_refused(registry: MemoryRegistry) -> None:
    rule: JsonObject = {"name": "r", "type": "CEL", "mode": "UPGRADE"}
    with pytest.raises(RegistryRefusal, match="mode is WRITE") as error:
        registry.register("s", A, rules={"domainRules": [dict(rule)]})
    assert error.value.code == 42210


def test_references_have_to_exist_and_keep_to_their_context(registry: MemoryRegistry) -> None:
    wanted = (Reference("other", "other", 1),)
    with pytest.raises(RegistryRefusal, match="subject 'other' has no version 1"):
        registry.register("s", A, references=wanted)
    registry.register("other", AB)
    registry.register("s", A, references=wanted)
    with pytest.raises(RegistryRefusal, match=r"subject ':\.c:other' has no version 1"):
        registry.register(":.c:s", A, references=wanted)


def test_contexts_count_ids_for_themselves(registry: MemoryRegistry) -> None:
    registry.register("s", A)
    registry.register("s", AB)
    assert registry.register(":.c:s", AB).id == 1
    assert registry.image.contexts == [".", ".c"]


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"])
def test_modes_refuse_new_schemas(registry: MemoryRegistry, mode: str) -> None:
    registry.commit(set_mode(registry.image, None, mode))
    with pytest.raises(RegistryRefusal) as error:
        registry.register("s", A)
    assert error.value.code == 42205


def test_ids_and_versions_are_imported(registry: MemoryRegistry) -> None:
    with pytest.raises(RegistryRefusal, match="not in import mode"):
        registry.register("s", A, schema_id=7, version=3)
    registry.commit(set_mode(registry.image, None, "IMPORT"))
    imported = registry.register("s", A, schema_id=7, version=3)
    assert (imported.id, imported.version) == (7, 3)
    written = len(registry.log)
    registry.register("s", A, schema_id=7)
    assert len(registry.log) == written
    with pytest.raises(RegistryRefusal, match="schema with id 7"):
        registry.register("t", AB, schema_id=7)
    with pytest.raises(RegistryRefusal, match="overwriting"):
        registry.register("s", AB, schema_id=8, version=3)
    registry.commit(set_mode(registry.image, None, "READWRITE"))
    assert registry.register("t", AB).id == 8


@pytest.mark.parametrize("name", ["", "  ", "__GLOBAL", "a\nb", ":.c:"])
def test_names_that_no_subject_can_have(registry: MemoryRegistry, name: str) -> None:
    with pytest.raises(RegistryRefusal) as error:
        registry.register(name, A)
    assert error.value.code == 42208


def test_a_schema_comes_back_with_its_id_after_a_soft_delete(registry: MemoryRegistry) -> None:
    registry.register("s", A)
    registry.commit(delete_subject(registry.image, "s", permanent=False))
    again = registry.register("s", A)
    assert (again.version, again.id) == (2, 1)


def test_a_look_up_finds_what_only_differs_in_form(registry: MemoryRegistry) -> None:
    first = registry.register("s", '{"b": 1, "a": 2}')
    assert registry.look_up("s", '{"a": 2, "b": 1}') == first
    with pytest.raises(RegistryRefusal) as error:
        registry.look_up("s", A)
    assert error.value.code == 40403
    with pytest.raises(RegistryRefusal) as error:
        registry.look_up("t", A)
    assert error.value.code == 40401


def test_a_guid_is_the_md5_of_text_references_metadata_and_rules() -> None:
    content = SchemaContent("AVRO", '"string"', (Reference("n", "s", 1),))
    whole = b'"string"' + b"ns\0\0\0\1"
    assert content.guid == str(UUID(bytes=md5(whole).digest()))
    metadata: JsonObject = {"properties": {"b": "2", "a": "1"}}
    rules: JsonObject = {"domainRules": [{"name": "r", "kind": "CONDITION", "expr": "x"}]}
    content = SchemaContent("AVRO", '"string"', metadata=metadata, rules=rules)
    whole = b'"string"' + b"\1a1b2" + b"\1rCONDITIONx"
    assert content.guid == str(UUID(bytes=md5(whole).digest()))


def test_a_context_without_ids_gives_none(registry: MemoryRegistry) -> None:
    registry.commit(set_mode(registry.image, "s", "IMPORT"))
    registry.register("s", A, schema_id=2**31 - 1)
    with pytest.raises(RegistryRefusal, match="has no id left") as caught:
        registry.register("t", AB)
    assert caught.value.code == 42205
    assert registry.register("t", A).id == 2**31 - 1
    assert registry.register(":.c:t", AB).id == 1


def test_rights_on_a_subject_do_not_reach_to_ids_of_others(registry: MemoryRegistry) -> None:
    registry.commit(set_mode(registry.image, "s", "IMPORT"))

    def imported(schema_id: int) -> int:
        content = SchemaContent("AVRO", f'{{"a": {schema_id}}}')
        wanted = WantedSchema("s", content, schema_id, may_skip_ids=False)
        return registry.commit(register(registry.image, registry.checks, wanted)).id

    assert imported(1_001) == 1_001
    assert imported(500) == 500
    with pytest.raises(RegistryRefusal, match="needs ALTER_CONFIGS on the whole context") as caught:
        imported(2**31 - 1)
    assert caught.value.code == 42205
    assert registry.register("t", AB).id == 1_002
