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
