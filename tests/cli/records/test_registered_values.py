"""`barnabas produce` and `consume` with a schema registry."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.cli.conftest import Cli
from tests.registry.registry_process import RegistryProcess, registries

NewTopic = Callable[..., str]
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "string"},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
            },
            {"name": "raw", "type": "bytes", "default": "\xff"},
        ],
    }
)
JSON = '{"type": "object", "properties": {"id": {"type": "string"}}}'
PROTOBUF = 'syntax = "proto3"; message Order { string id = 1; int32 count = 2; }'
SHOWN = {"id": "7", "price": "9.90", "raw": "ff"}


@pytest.fixture(scope="module")
def registry(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with registries(tmp_path_factory.mktemp("registry"), bootstrap) as make:
        yield make()


def test_avro_is_written_shown_and_copied(
    cli: Cli, new_topic: NewTopic, registry: RegistryProcess
) -> None:
    topic = new_topic()
    registry.register(f"{topic}-value", ORDER)
    avro = ("--format", "avro", "--registry", registry.url)
    lines = 'a:{"id": "7", "price": "9.90"}\na:NULL\n'
    options = ("--key-separator", ":", "--null-marker", "NULL")
    cli.ok("produce", topic, *avro, *options, stdin=lines)
    shown = cli.ok("consume", topic, "--no-follow", *avro).splitlines()
    assert json.loads(shown[0]) == SHOWN
    assert shown[1:] == ["null"]
    value = ("--value-deserializer", "avro", "--registry", registry.url)
    copied = cli.ok("consume", topic, "--no-follow", "--json", *value)
    assert json.loads(copied.splitlines()[0])["value"] == SHOWN
    cli.ok("produce", topic, *avro, *options, stdin='b:{"id": "7", "price": 9.9}\n')
    assert json.loads(cli.ok("get", topic, "b", *value)) == SHOWN
    assert json.loads(cli.ok("get", topic, "b", *value, "--json"))["value"] == SHOWN
    other = f"{topic}-copy"
    registry.register(f"{other}-value", ORDER)
    cli.ok("produce", other, "--create", "--json", *avro, stdin=copied)
    template = ("--format", "{key} {value}", *value)
    assert cli.ok("consume", other, "--no-follow", *template).splitlines() == [
        'a {"id":"7","price":"9.90","raw":"ff"}',
        "a null",
    ]


def test_a_value_that_does_not_fit_is_named_with_its_line(
    cli: Cli, new_topic: NewTopic, registry: RegistryProcess
) -> None:
    topic = new_topic()
    registry.register(f"{topic}-value", ORDER)
    avro = ("--format", "avro", "--registry", registry.url)
    lines = '{"id": "1", "price": 1}\n{"id": "7", "price": "9.999"}\n'
    assert cli.fails(1, "produce", topic, *avro, stdin=lines) == (
        "error: line 2: price: has more than 2 decimal places (version 1 of "
        f"{topic}-value); what came before it was sent\n"
    )
    assert "line 1: not JSON" in cli.fails(1, "produce", topic, *avro, stdin="{\n")
    cli.ok("produce", topic, stdin="plain\n")
    said = cli.fails(1, "consume", topic, "--no-follow", *avro)
    assert "does not begin with the id of a schema" in said
    again = cli.ok("consume", topic, "--no-follow", *avro, "--skip-undecodable")
    assert json.loads(again)["id"] == "1"


@pytest.mark.parametrize(
    ("name", "kind", "schema"),
    [("json-schema", "JSON", JSON), ("protobuf", "PROTOBUF", PROTOBUF)],
)
def test_other_kinds(
    cli: Cli, new_topic: NewTopic, registry: RegistryProcess, name: str, kind: str, schema: str
) -> None:
    topic = new_topic()
    registry.register(f"{topic}-value", schema, schemaType=kind)
    options = ("--format", name, "--registry", registry.url)
    cli.ok("produce", topic, *options, stdin='{"id": "7"}\n')
    assert cli.ok("consume", topic, "--no-follow", *options) == '{"id":"7"}\n'
    assert "line 1: id: " in cli.fails(1, "produce", topic, *options, stdin='{"id": 7}\n')
    said = cli.fails(2, "produce", topic, "--format", "avro", "--registry", registry.url)
    assert f"is {kind}; use --format {name}" in said


def test_what_is_missing_is_named(cli: Cli, new_topic: NewTopic, registry: RegistryProcess) -> None:
    topic = new_topic()
    avro = ("--format", "avro", "--registry")
    said = cli.fails(1, "produce", topic, *avro, registry.url, stdin="{}\n")
    assert f"register one: barnabas schemas register {topic}-value FILE" in said
    cli.ok("produce", topic, stdin=b"\0\0\0\0\1x\n")
    for command in (("produce", topic), ("consume", topic, "--no-follow")):
        said = cli.fails(1, *command, *avro, "http://127.0.0.1:1", stdin="{}\n")
        assert "no answer from the schema registry at http://127.0.0.1:1" in said
