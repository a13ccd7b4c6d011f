"""What a Kafka without security answers, and what there is of resources besides topics."""

import pytest

from barnabas.metadata.features import METADATA_VERSION, SUPPORTED
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_replica_log_dirs as log_dirs
from barnabas.wire.messages import update_features as features
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
_NEWEST = {name: levels.newest for name, levels in SUPPORTED.items()}


def test_no_user_has_credentials(client: RawClient) -> None:
    asked = [UserName(name) for name in ("ann", "bob", "bob")]
    answer = client.ask(DescribeUserScramCredentialsRequest(asked))
    assert [(each.user, each.error_code) for each in answer.results] == [
        ("ann", ErrorCode.RESOURCE_NOT_FOUND),
        ("bob", ErrorCode.DUPLICATE_RESOURCE),
    ]


def listed(client: RawClient, *types: int) -> set[tuple[str, int]]:
    answer = client.ask(ListConfigResourcesRequest(list(types)))
    assert answer.error_code == 0
    return {(each.resource_name, each.resource_type) for each in answer.config_resources}


def test_resources_with_settings(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    assert (topic, TOPIC) in listed(client, TOPIC)
    assert listed(client, BROKER) == {("1", BROKER)}
    others = listed(client, BROKER, GROUP, CLIENT_METRICS)  # some of other tests too
    assert ("1", BROKER) in others
    assert {kind for _, kind in others} <= {BROKER, GROUP, CLIENT_METRICS}
    assert {("1", BROKER), ("1", LOGGER), (topic, TOPIC)} <= listed(client)
    refused = client.ask(ListConfigResourcesRequest([77]))
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert client.ask(ListConfigResourcesRequest(), 0).config_resources == []


def described(client: RawClient, resource_type: int, name: str) -> DescribeConfigsResult:
    asked = DescribeConfigsResource(resource_type, name, None)
    (result,) = client.ask(DescribeConfigsRequest([asked])).results
    assert isinstance(result, DescribeConfigsResult)
    return result


def test_subscriptions_to_client_metrics_have_settings(client: RawClient) -> None:
    def values() -> dict[str, tuple[str, int]]:
        found = described(client, CLIENT_METRICS, "some")
        assert found.error_code == 0
        return {config.name: (config.value, config.config_source) for config in found.configs}

    assert values() == {"interval.ms": ("300000", 5), "match": ("", 5), "metrics": ("", 5)}
    set_config(client, CLIENT_METRICS, "some", "interval.ms", "1000")
    set_config(client, CLIENT_METRICS, "some", "match", "client_id=a-.*,client_source_port=9[0-9]+")
    assert values()["interval.ms"] == ("1000", 7)
    assert listed(client, CLIENT_METRICS) == {("some", CLIENT_METRICS)}
    (old,) = client.ask(ListConfigResourcesRequest(), 0).config_resources
    assert old.resource_name == "some"
    for name in ("interval.ms", "match"):
        unset_config(client, CLIENT_METRICS, "some", name)
    assert listed(client, CLIENT_METRICS) == set()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("interval.ms", "99", ErrorCode.INVALID_CONFIG),
        ("interval.ms", "3600001", ErrorCode.INVALID_CONFIG),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "color=red", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=(", ErrorCode.INVALID_CONFIG),
        ("push", "1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_settings_that_no_subscription_can_have(
    client: RawClient, name: str, value: str, error: ErrorCode
) -> None:
    set_config(client, CLIENT_METRICS, "refused", name, value, expect=error)
    assert ("refused", CLIENT_METRICS) not in listed(client)


@pytest.mark.parametrize("resource_type", [GROUP, CLIENT_METRICS])
def test_a_resource_has_a_name(client: RawClient, resource_type: int) -> None:
    assert described(client, resource_type, "").error_code == ErrorCode.INVALID_REQUEST


def test_groups_have_settings_whether_they_exist_or_not(client: RawClient) -> None:
    found = described(client, GROUP, "some")
    assert found.error_code == 0
    configs = {config.name: (config.value, config.config_source) for config in found.configs}
    assert configs["share.auto.offset.reset"] == ("latest", 5)
    assert configs["share.record.lock.duration.ms"] == ("30000", 5)
    set_config(client, GROUP, "some", "share.record.lock.duration.ms", "20000")
    found = described(client, GROUP, "some")
    configs = {config.name: (config.value, config.config_source) for config in found.configs}
    assert configs["share.record.lock.duration.ms"] == ("20000", 8)


def test_a_consumer_group_goes_by_its_settings(client: RawClient) -> None:
    set_config(client, GROUP, "unhurried", "consumer.heartbeat.interval.ms", "15000")
    join = ConsumerGroupHeartbeatRequest(
        "unhurried", "a", rebalance_timeout_ms=1_000, subscribed_topic_names=[], topic_partitions=[]
    )
    for group, interval_ms in (("unhurried", 15_000), ("ordinary", 5_000)):
        join.group_id = group
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        wait_until(lambda asked=asked: not client.ask(asked).coordinators[0].error_code)
        wait_until(lambda: client.ask(join).error_code == 0)
        assert client.ask(join).heartbeat_interval_ms == interval_ms


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share.record.lock.duration.ms", "999999"),  # more than group.share.max...
        ("share.delivery.count.limit", "1"),
        ("share.auto.offset.reset", "soon"),
        ("share.auto.offset.reset", "by_duration:P"),
        ("share.isolation.level", "serializable"),
        ("share.unknown", "1"),
        ("consumer.session.timeout.ms", "44999"),  # less than group.consumer.min...
        ("consumer.heartbeat.interval.ms", "15001"),
    ],
)
def test_settings_of_groups_are_checked(client: RawClient, name: str, value: str) -> None:
    assert set_config(client, GROUP, "some", name, value, expect=None) != 0


def test_metadata_by_id_may_come_with_an_empty_name(client: RawClient) -> None:
    """As Java's client asks when it is subscribed by a regular expression."""
    asked = MetadataRequest([MetadataRequestTopic(b"?" * 16, "")])
    (topic,) = client.ask(asked).topics
    assert (topic.error_code, topic.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, b"?" * 16)


def set_config(
    client: RawClient,
    resource_type: int,
    resource: str,
    name: str,
    value: str,
    expect: int | None = 0,
) -> int:
    change = AlterConfigsResource(resource_type, resource, [AlterableConfig(name, 0, value)])
    (result,) = client.ask(IncrementalAlterConfigsRequest([change])).responses
    assert expect is None or result.error_code == expect, result.error_message
    return int(result.error_code)


def unset_config(client: RawClient, resource_type: int, resource: str, name: str) -> None:
    change = AlterConfigsResource(resource_type, resource, [AlterableConfig(name, 1, None)])
    (result,) = client.ask(IncrementalAlterConfigsRequest([change])).responses
    assert result.error_code == 0, result.error_message


def test_loggers_have_levels(client: RawClient) -> None:
    found = described(client, LOGGER, "1")
    assert found.error_code == 0
    levels = {config.name: config.value for config in found.configs}
    assert levels["root"] == "INFO"
    assert "barnabas.broker.net.dispatcher" in levels
    assert all(not config.read_only and config.config_source == 6 for config in found.configs)
    assert described(client, LOGGER, "7").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("name", "level"), [("transaction.version", 1), ("group.version", 2)])
def test_features_are_not_lowered_or_raised_beyond_the_release(
    client: RawClient, name: str, level: int
) -> None:
    updates = [
        features.FeatureUpdateKey("share.version", 1),
        features.FeatureUpdateKey(name, level),
    ]
    request = features.UpdateFeaturesRequest(feature_updates=updates)
    answer = client.ask(request)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"Invalid update version {level} for feature {name}" in answer.error_message
    results = client.ask(request, 1).results
    assert {each.error_code for each in results} == {ErrorCode.INVALID_UPDATE_VERSION}


def test_a_new_cluster_has_the_newest_levels(client: RawClient) -> None:
    question = ApiVersionsRequest("test", "1")
    wait_until(lambda: _levels(client.ask(question)) == _NEWEST, "the levels are not raised")
    answer = client.ask(question)
    assert {
        each.name: (each.min_version, each.max_version) for each in answer.supported_features
    } == SUPPORTED
    assert answer.finalized_features_epoch > 0
    again = [features.FeatureUpdateKey(name, level) for name, level in _NEWEST.items()]
    assert client.ask(features.UpdateFeaturesRequest(feature_updates=again)).error_code == 0
    for version in (0, 1):
        results = client.ask(features.UpdateFeaturesRequest(feature_updates=again), version).results
        assert {each.feature: each.error_code for each in results} == dict.fromkeys(_NEWEST, 0)
    lower = features.FeatureUpdateKey(METADATA_VERSION, 29, allow_downgrade=True)
    (result,) = client.ask(features.UpdateFeaturesRequest(feature_updates=[lower]), 0).results
    assert result.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "older releases can't read" in result.error_message


def _levels(answer: ApiVersionsResponse) -> dict[str, int]:
    return {each.name: each.max_version_level for each in answer.finalized_features}


def test_replicas_are_in_the_one_directory(
    client: RawClient, node: BrokerProcess, topic: str
) -> None:
    create_topic(client, topic)
    asked = [log_dirs.AlterReplicaLogDirTopic(topic, [0, 1])]
    request = log_dirs.AlterReplicaLogDirsRequest(
        [log_dirs.AlterReplicaLogDir(str(node.data), asked)]
    )
    (result,) = client.ask(request).results
    assert result.topic_name == topic
    assert [each.error_code for each in result.partitions] == [0, ErrorCode.REPLICA_NOT_AVAILABLE]
