"""Avro with a registry, against a broker and a registry."""

import json
from dataclasses import dataclass, make_dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest

import barnabas
from barnabas import formats
from barnabas.errors import BarnabasError, InvalidArgument, UndecodableRecord
from barnabas.formats import Registry
from barnabas.schemas import avro_of
from tests.api.faces import Face
from tests.api.registered.models import AT, VALUES, Line, Note, Order, made
from tests.registry.registry_process import RegistryProcess


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_models_go_in_and_come_out(
    servers: str, topic: str, registry: RegistryProcess, value: Any
) -> None:
    kind = type(value)
    own = Registry(registry.url, register=True)
    with barnabas.Producer(servers, value=kind, value_format="avro", registry=own) as producer:
        producer.send(topic, value)
        producer.send(topic, None)
    with barnabas.Consumer(
        servers,
        topic,
        value=formats.optional(kind),
        value_format="avro",
        registry=registry.url,
    ) as consumer:
        assert [each.value for each in consumer.poll(120)] == [value, None]
    assert registry.get(f"/subjects/{topic}-value/versions") == [1]


def test_both_faces_write_and_read(
    servers: str, topic: str, registry: RegistryProcess, face: Face
) -> None:
    registry.register(f"{topic}-value", json.dumps(avro_of(Order)))
    value = made(Order, Line)
    options: dict[str, Any] = {
        "key": str,
        "value": Order,
        "value_format": "avro",
        "registry": registry.url,
    }
    with face.producer(servers, **options) as producer:
        producer.send(topic, value, key="a")
    with face.consumer(servers, topic, **options) as consumer:
        (found,) = consumer.poll(120)
    assert (found.key, found.value) == ("a", value)


def test_dicts_are_written_with_the_latest_version(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    registry.register(f"{topic}-value", json.dumps(avro_of(Line)))
    registry.register(f"{topic}-key", '"long"')
    options: Any = {"key_format": "avro", "value_format": "avro", "registry": registry.url}
    with barnabas.Producer(servers, **options) as producer:
        producer.send(topic, {"sku": "a"}, key=7)
        with pytest.raises(InvalidArgument) as caught:
            producer.send(topic, {"sku": "a", "count": "two"}, key=7)
        assert str(caught.value) == (
            f"value_format=avro: count: expected long, got 'two' (version 1 of {topic}-value)"
        )
    with barnabas.Consumer(servers, topic, **options) as consumer:
        assert [(each.key, each.value) for each in consumer.poll(120)] == [
            (7, {"sku": "a", "count": 1})
        ]


def test_readers_with_another_version_of_the_model(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    newer = make_dataclass(
        "Line", [("count", float, 1.0), ("sku", str, ""), ("colour", str | None, None)]
    )
    own = Registry(registry.url, register=True)
    for kind, value in ((Line, Line("a", 3)), (newer, newer(2.5, "b", "red"))):
        registry.call("PUT", f"/config/{topic}-value", {"compatibility": "BACKWARD"})
        with barnabas.Producer(servers, value=kind, value_format="avro", registry=own) as producer:
            producer.send(topic, value)
    with barnabas.Consumer(
        servers, topic, value=newer, value_format="avro", registry=registry.url
    ) as consumer:
        found = [each.value for each in islice(consumer, 2)]
        assert found == [newer(3.0, "a"), newer(2.5, "b", "red")]
    with barnabas.Consumer(
        servers, topic, value=Line, value_format="avro", registry=registry.url
    ) as consumer:
        assert [each.value for each in consumer.poll(120)] == [Line("a", 3)]
        with pytest.raises(UndecodableRecord, match=r"count: expected an integer, got 2.5"):
            consumer.poll(120)


def test_a_schema_that_is_not_registered_is_an_error_before_anything_is_sent(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    with barnabas.Producer(
        servers, value=Line, value_format="avro", registry=registry.url
    ) as producer:
        with pytest.raises(BarnabasError) as caught:
            producer.send(topic, Line("a"))
        assert str(caught.value) == (
            f"the schema of Line is not registered under subject {topic}-value at {registry.url}: "
            f"register it (barnabas schemas register {topic}-value FILE, or Registry(URL, "
            "register=True)), or write with the latest version (Registry(URL, use_latest=True))"
        )
        registry.register(f"{topic}-value", json.dumps(avro_of(Line)))
        producer.send(topic, Line("a")).result()
        with pytest.raises(TypeError, match="takes Line, not dict"):
            producer.send(topic, {"sku": "b"})  # type: ignore[arg-type]


def test_an_incompatible_model_is_refused(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    registry.register(f"{topic}-value", json.dumps(avro_of(Line)))
    other = make_dataclass("Line", [("sku", str), ("size", int)])
    own = Registry(registry.url, register=True)
    with (
        barnabas.Producer(servers, value=other, value_format="avro", registry=own) as producer,
        pytest.raises(
            BarnabasError, match=r"refuses the schema of Line .*Line.size has no default"
        ),
    ):
        producer.send(topic, other("a", 2))


def test_the_latest_version_is_written_if_the_model_fits(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    newer = make_dataclass("Line", [("sku", str), ("count", int, 1), ("colour", str, "red")])
    registry.register(f"{topic}-value", json.dumps(avro_of(Line)))
    registry.register(f"{topic}-value", json.dumps(avro_of(newer)))
    latest = Registry(registry.url, use_latest=True)
    with barnabas.Producer(servers, value=Line, value_format="avro", registry=latest) as producer:
        producer.send(topic, Line("a"))
        with pytest.raises(InvalidArgument, match=rf"sku: .* \(version 2 of {topic}-value\)"):
            producer.send(topic, Line(5))  # type: ignore[arg-type]
    with barnabas.Consumer(servers, topic, value_format="avro", registry=registry.url) as consumer:
        (found,) = consumer.poll(120)
        assert found.value == {"sku": "a", "count": 1, "colour": "red"}
    wider = make_dataclass("Line", [("sku", str), ("weight", int)])
    with (
        barnabas.Producer(servers, value=wider, value_format="avro", registry=latest) as producer,
        pytest.raises(InvalidArgument, match=r"weight: Line has no such field .version 2"),
    ):
        producer.send(topic, wider("a", 2))


def test_the_latest_version_by_its_metadata(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    newer = make_dataclass("Line", [("sku", str), ("colour", str, "red")])
    registry.register(
        f"{topic}-value", json.dumps(avro_of(Line)), metadata={"properties": {"major": "1"}}
    )
    registry.register(
        f"{topic}-value", json.dumps(avro_of(newer)), metadata={"properties": {"major": "2"}}
    )
    old = Registry(registry.url, latest_with={"major": "1"})
    with barnabas.Producer(servers, value=Line, value_format="avro", registry=old) as producer:
        producer.send(topic, Line("a", 4))
    none = Registry(registry.url, latest_with={"major": "3"})
    with (
        barnabas.Producer(servers, value=Line, value_format="avro", registry=none) as producer,
        pytest.raises(BarnabasError, match=f"no schema with metadata .* {topic}"),
    ):
        producer.send(topic, Line("a", 4))


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("record", "Line"),
        ("topic-record", "{topic}-Line"),
        (lambda topic, part, name: f"{name}.{part}.{topic}", "Line.value.{topic}"),
    ],
)
def test_subjects_have_other_names_with_other_strategies(
    servers: str, topic: str, registry: RegistryProcess, strategy: Any, subject: str
) -> None:
    own = Registry(registry.url, register=True, subjects=strategy)
    with barnabas.Producer(servers, value=Line, value_format="avro", registry=own) as producer:
        producer.send(topic, Line("a"))
    assert registry.get(f"/subjects/{subject.format(topic=topic)}/versions") == [1]


def test_typeddicts_and_classes_with_a_schema_of_their_own(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    own = Registry(registry.url, register=True)
    note: Note = {"text": "x", "size": None}
    with barnabas.Producer(servers, value=Note, value_format="avro", registry=own) as producer:
        producer.send(topic, note)
    with barnabas.Consumer(
        servers, topic, value=Renamed, value_format="avro", registry=own
    ) as consumer:
        assert [each.value for each in consumer.poll(120)] == [Renamed("x")]


@dataclass
class Renamed:
    words: str
    __avro_schema__ = {  # noqa: RUF012
        "type": "record",
        "name": "Note",
        "fields": [{"name": "words", "aliases": ["text"], "type": "string"}],
    }


def test_streams_and_other_data_in_the_topic(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    own = Registry(registry.url, register=True)
    with barnabas.Producer(servers, value=Line, value_format="avro", registry=own) as producer:
        producer.send(topic, Line("a"))
    with barnabas.Producer(servers) as plain:
        plain.send(topic, b"plain")
        plain.send(topic, b"\0\0\xff\xff\xff...")
    options: Any = {"value": Line, "value_format": "avro", "registry": registry.url}
    consumer = barnabas.Consumer(servers, topic, **options)
    (stream,) = consumer.streams(1)
    assert next(iter(stream)).value == Line("a")
    consumer.close()
    with barnabas.Consumer(servers, topic, **options) as consumer:
        assert [each.value for each in consumer.poll(120)] == [Line("a")]
        with pytest.raises(UndecodableRecord, match="does not begin with the id of a schema"):
            consumer.poll(120)
        consumer.seek(barnabas.TopicPartition(topic, 0), 2)
        for _ in range(2):
            with pytest.raises(UndecodableRecord, match="has no schema 16777215"):
                consumer.poll(120)


def test_decimals_dates_and_unions_that_do_not_fit_are_named(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    registry.register(f"{topic}-value", json.dumps(avro_of(Order)))
    good = {"id": "1", "price": Decimal(1), "at": AT}
    wrong = [
        ({"price": Decimal("1.234")}, "price: 1.234 has more than 2 decimal places"),
        ({"at": AT.replace(tzinfo=None)}, "at: expected a datetime with a time zone"),
        ({"day": AT}, "day: expected a date"),
        ({"lines": [{"sku": 1}]}, r"lines\[0\].sku: expected a str, got 1"),
        ({"state": "shut"}, "state: expected one of open, paid, got 'shut'"),
        ({"main": {"sku": "a", "more": 1}}, "main.more: Line has no such field"),
        ({"tags": {"a": 1 << 63}}, r"tags\['a'\]: 9223372036854775808 is too large for long"),
        ({"id": None}, "id: expected a str, got None"),
    ]
    with barnabas.Producer(servers, value_format="avro", registry=registry.url) as producer:
        producer.send(topic, good)
        for change, problem in wrong:
            with pytest.raises(InvalidArgument, match=problem):
                producer.send(topic, good | change)
        with pytest.raises(InvalidArgument, match="price: is missing, and has no default"):
            producer.send(topic, {"id": "1", "at": AT})
