"""Property files of Mirror Maker 2: what becomes of their settings."""

import pytest

from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.mirror_maker.properties import parse

TWO = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a1:9092, a2:9092",
    "B.bootstrap.servers": "b1:9092",
}
BOTH = {**TWO, "A->B.enabled": "true", "B->A.enabled": "true"}
OF_CONNECTORS = """
admin.timeout.ms
checkpoints.topic.replication.factor
config.action.reload
config.properties.exclude
config.property.filter.class
config.providers
connector.class
connector.plugin.version
consumer.poll.timeout.ms
emit.checkpoints.enabled
emit.checkpoints.interval.seconds
emit.heartbeats.enabled
emit.heartbeats.interval.seconds
emit.offset-syncs.enabled
enabled
errors.log.enable
errors.log.include.messages
errors.retry.delay.max.ms
errors.retry.timeout
errors.tolerance
forwarding.admin.class
group.filter.class
groups
groups.exclude
header.converter
header.converter.plugin.version
heartbeats.replication.enabled
heartbeats.topic.replication.factor
key.converter
key.converter.plugin.version
metric.names.formats
metric.reporters
name
offset-syncs.topic.location
offset-syncs.topic.replication.factor
offset.lag.max
predicates
refresh.groups.enabled
refresh.groups.interval.seconds
refresh.topics.enabled
refresh.topics.interval.seconds
replication.factor
replication.policy.class
replication.policy.internal.topic.separator.enabled
replication.policy.separator
source.cluster.alias
sync.group.offsets.enabled
sync.group.offsets.interval.seconds
sync.topic.acls.enabled
sync.topic.acls.interval.seconds
sync.topic.configs.enabled
sync.topic.configs.interval.seconds
target.cluster.alias
tasks.max
tasks.max.enforce
topic.filter.class
topics
topics.exclude
transforms
value.converter
value.converter.plugin.version
"""
"""Settings of the three connectors in Kafka 4.3, without those of security."""


def flow_of(**settings: str) -> Flow:
    (found,) = parse({**TWO, "A->B.enabled": "true", **settings}).flows
    return found.flow


def test_a_file_of_two_clusters() -> None:
    found = parse({**TWO, "A->B.enabled": "true", "A->B.topics": "orders, customers.*"})
    (made,) = found.flows
    assert made.flow.name == "A->B"
    assert made.flow.source.bootstrap_servers == "a1:9092,a2:9092"
    assert made.flow.topics == ("orders", "customers.*")
    assert made.flow.names is Names.PREFIX
    assert not made.groups.commit  # Mirror Maker's default
    assert found.unused == ()


def test_a_flow_counts_before_everything() -> None:
    both = parse({**BOTH, "topics": "x", "A->B.topics": "y", "replication.factor": "3"})
    assert {each.flow.name: each.flow.topics for each in both.flows} == {
        "A->B": ("y",),
        "B->A": ("x",),
    }
    assert {each.flow.replication_factor for each in both.flows} == {3}
    assert both.unused == ()


def test_flows_can_be_chosen() -> None:
    assert [each.flow.name for each in parse(BOTH, ["B->A"]).flows] == ["B->A"]
    with pytest.raises(InvalidArgument, match="it has A->B, B->A"):
        parse(BOTH, ["A->C"])


def test_policies_of_names() -> None:
    java = "org.apache.kafka.connect.mirror."
    policy = "replication.policy.class"
    assert flow_of(**{policy: f"{java}IdentityReplicationPolicy"}).names is Names.IDENTITY
    assert flow_of(**{"replication.policy.separator": "_"}).separator == "_"
    assert flow_of(**{"replication.policy.separator": "_"}).internal_separator == "_"
    dots = {"replication.policy.internal.topic.separator.enabled": "false"}
    assert flow_of(**{"replication.policy.separator": "_"}, **dots).internal_separator == "."
    with pytest.raises(InvalidArgument, match=r"com\.example\.Own"):
        flow_of(**{policy: "com.example.Own"})


def test_security_of_each_cluster() -> None:
    flow = flow_of(
        **{
            "security.protocol": "SASL_PLAINTEXT",
            "A.sasl.mechanism": "PLAIN",
            "A.sasl.username": "me",
            "A.sasl.password": "secret",
            "B.security.protocol": "PLAINTEXT",
        }
    )
    assert flow.source.security["security.protocol"] == "SASL_PLAINTEXT"
    assert flow.source.security["sasl.username"] == "me"
    assert flow.target.security == {"security.protocol": "PLAINTEXT"}


def test_settings_of_groups_and_topics() -> None:
    (found,) = parse(
        {
            **TWO,
            "A->B.enabled": "true",
            "sync.group.offsets.enabled": "true",
            "emit.heartbeats.enabled": "false",
            "heartbeats.replication.enabled": "false",
            "groups": "billing-.*",
            "groups.exclude": "billing-test",
            "sync.group.offsets.interval.seconds": "5",
            "topics.exclude": "audit",
            "sync.topic.configs.enabled": "false",
            "sync.topic.acls.enabled": "true",
            "refresh.topics.interval.seconds": "30",
        }
    ).flows
    assert found.groups.commit
    assert not found.groups.emit_heartbeats
    assert not found.flow.replicate_heartbeats
    assert found.groups.interval_s == 5
    assert found.groups.includes("billing-1")
    assert not found.groups.includes("billing-test")
    assert found.flow.exclude == ("audit",)
    assert not found.flow.sync_configs
    assert found.flow.sync_acls
    assert found.flow.refresh_s == 30


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("offset.lag.max", "every record"),
        ("A->B.tasks.max", "Kafka Connect"),
        ("B.producer.compression.type", "Java's clients"),
        ("config.storage.replication.factor", "Kafka Connect"),
        ("enabled", "A->B.enabled"),
        ("A->C.enabled", "not in the list of clusters"),
        ("A.ssl.engine.factory.class", "not supported"),
        ("topcis", "spelled right"),
    ],
)
def test_what_is_not_used_is_named(setting: str, reason: str) -> None:
    (unused,) = parse({**BOTH, setting: "1"}).unused
    assert unused.name == setting
    assert reason in str(unused)


def test_every_setting_of_mirror_maker_is_used_or_explained() -> None:
    values = {"replication.policy.class": "DefaultReplicationPolicy"}
    given = {name: values.get(name, "1") for name in OF_CONNECTORS.split()}
    given |= {name: "true" for name in given if name.endswith(".enabled")}
    unused = parse({**BOTH, **given}).unused
    assert [str(each) for each in unused if "spelled right" in each.reason] == []


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({}, "clusters = A, B"),
        ({"clusters": "A, B"}, "A.bootstrap.servers"),
        (TWO, "A->B.enabled = true"),
        ({**TWO, "A->B.enabled": "yes"}, "true or false"),
        ({**BOTH, "replication.factor": "many"}, "a number from 1 on"),
        ({**BOTH, "A->B.topics": "("}, "topics"),
        ({**BOTH, "A.sasl.password": "${file:/secrets:password}"}, "config provider"),
    ],
)
def test_errors_name_the_fix(settings: dict[str, str], fix: str) -> None:
    with pytest.raises(InvalidArgument, match=fix.replace("(", r"\(")):
        parse(settings)
