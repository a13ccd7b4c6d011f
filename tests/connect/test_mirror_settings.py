"""Settings of mirrors as connectors: Mirror Maker 2's become a flow, or errors by name."""

from pathlib import Path

import pytest

from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import DEFAULT_EXCLUDED, Names
from barnabas.mirror.mirror_maker.connector_settings import flow_of
from barnabas.spark.pipelines.connectors.connector import direction_of
from barnabas.spark.pipelines.connectors.mirrors import MIRRORS
from barnabas.spark.pipelines.connectors.pipeline_files import (
    check_config,
    created_topics,
    pipelines_of,
)
from barnabas.spark.pipelines.connectors.validation import definitions, plugins, validated

HERE = Path("/somewhere")
JAVA = "org.apache.kafka.connect.mirror."
MIRROR_MAKER = {
    "name": "east-to-west",
    "connector.class": f"{JAVA}MirrorSourceConnector",
    "tasks.max": "4",
    "source.cluster.alias": "east",
    "source.cluster.bootstrap.servers": "a1:9092, a2:9092",
    "source.cluster.security.protocol": "SASL_PLAINTEXT",
    "source.cluster.sasl.mechanism": "PLAIN",
    "source.cluster.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
    'required username="m" password="p";',
    "target.cluster.alias": "west",
    "target.cluster.bootstrap.servers": "b1:9092",
    "topics": "orders, customers.*",
    "groups": "billing.*",
    "sync.group.offsets.enabled": "true",
    "replication.policy.class": f"{JAVA}IdentityReplicationPolicy",
    "replication.factor": "3",
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "header.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
SMALL = {
    "name": "m",
    "connector.class": "mirror",
    "source.cluster.alias": "a",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


def errors_of(**changes: str | None) -> dict[str, list[str]]:
    config = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return check_config({n: v for n, v in config.items() if v is not None}, HERE).found


def test_mirror_makers_settings_are_a_flow() -> None:
    assert check_config(MIRROR_MAKER, HERE).found == {}
    with pytest.raises(InvalidArgument, match="`barnabas mirror run`"):
        pipelines_of(MIRROR_MAKER, HERE, lambda: None)
    found = flow_of(MIRROR_MAKER)
    flow, groups = found.flow, found.groups
    assert flow.name == "east->west"
    assert flow.source.bootstrap_servers == "a1:9092,a2:9092"
    assert flow.source.security["sasl.mechanism"] == "PLAIN"
    assert flow.target.security == {}
    assert flow.topics == ("orders", "customers.*")
    assert flow.exclude == DEFAULT_EXCLUDED
    assert flow.names is Names.IDENTITY
    assert flow.replication_factor == 3
    assert groups.commit
    assert groups.includes("billing-2")
    assert not groups.includes("shipping")
    assert direction_of(MIRROR_MAKER) == "source"
    assert created_topics(MIRROR_MAKER, HERE) == ()


def test_further_settings_and_defaults() -> None:
    given = {"provenance": "true", "max.mb.per.second": "0.5", "compression": "zstd"}
    further = {"start": "latest", "round.seconds": "2", "delete.topics": "true"}
    flow = flow_of({**SMALL, **given, **further}).flow
    assert flow.provenance
    assert flow.max_bytes_per_second == 500_000
    assert flow.compression == "zstd"
    assert (flow.start, flow.sync_deletes) == ("latest", True)
    assert flow.target.name == "target"
    as_in_mirror_maker = {"source.consumer.auto.offset.reset": "latest"}
    assert flow_of({**SMALL, **as_in_mirror_maker}).flow.start == "latest"
    # Mirror Maker commits no offsets of groups unless it is told to; `mirror run` does.
    assert flow_of(SMALL).groups.commit
    assert not flow_of({**SMALL, "connector.class": MIRRORS[1]}).groups.commit


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("source.cluster.alias", None, "Missing required setting"),
        ("target.cluster.bootstrap.servers", None, "Missing required setting"),
        ("source.cluster.alias", "a b", "can't name a cluster"),
        ("source.cluster.alias", "target", "both clusters are named target"),
        ("topics", "orders(", "topics 'orders('"),
        ("groups", "x(", "groups 'x('"),
        ("replication.factor", "0", "use a number from 1 on"),
        ("replication.policy.class", "my.Policy", "DefaultReplicationPolicy"),
        ("max.mb.per.second", "fast", "use a number from 0.001 on"),
        ("compression", "rar", "use gzip, snappy, lz4, zstd"),
        ("provenance", "maybe", "use true or false"),
        ("enabled", "false", "stop the connector"),
        ("exactly.once.support", "disabled", "exactly once"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter", "ByteArrayConverter"),
        ("trigger", "10 seconds", "copied at once"),
        ("offset.lag.max", "0", "translated for every record"),
        ("topic.filter.class", "my.Filter", "Java classes"),
        ("transforms", "x", "can't be used here"),
        ("spark.executor.memory", "1g", "spark.own=true"),
        ("topicz", "orders", "spelled right"),
        ("tasks.max", "0", "1 or more"),
        ("name", "a/b", "letters, digits"),
    ],
)
def test_what_is_wrong_is_named(name: str, value: str | None, said: str) -> None:
    found = errors_of(**{name.replace(".", "__"): value})
    blamed = "connector.class" if said.startswith("both") else name
    assert list(found) == [blamed], found
    assert said in found[blamed][0]


def test_the_other_two_connectors_are_refused_with_advice() -> None:
    for name in ("MirrorCheckpointConnector", "MirrorHeartbeatConnector"):
        found = check_config({**MIRROR_MAKER, "connector.class": JAVA + name}, HERE).found
        assert "MirrorSourceConnector does this here as well" in found["connector.class"][0]


def test_mirrors_are_plugins() -> None:
    listed = {each["class"]: each["type"] for each in plugins("1")}
    assert {each: listed[each] for each in MIRRORS} == dict.fromkeys(MIRRORS, "source")
    names = {each.name for each in definitions("MirrorSourceConnector")}
    assert {"name", "tasks.max", "source.cluster.alias", "topics", "groups"} < names
    found = validated("MirrorSource", MIRROR_MAKER, HERE)
    assert found["error_count"] == 0
    shown = {each["value"]["name"]: each["value"]["value"] for each in found["configs"]}
    assert shown["source.cluster.sasl.jaas.config"] == "[hidden]"
    assert {each.name for each in definitions("mirror")} == names
