"""What a Kafka without security answers, and what there is of resources besides topics."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_replica_log_dirs as log_dirs
from barnabas.wire.messages import update_features as features
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic
from tests.support.broker import BrokerProcess

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


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
    assert listed(client, BROKER, GROUP, CLIENT_METRICS) == {("1", BROKER)}
    assert {("1", BROKER), ("1", LOGGER), (topic, TOPIC)} <= listed(client)
    refused = client.ask(ListConfigResourcesRequest([77]))
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert client.ask(ListConfigResourcesRequest(), 0).config_resources == []


def described(client: RawClient, resource_type: int, name: str) -> DescribeConfigsResult:
    asked = DescribeConfigsResource(resource_type, name, None)
    (result,) = client.ask(DescribeConfigsRequest([asked])).results
    assert isinstance(result, DescribeConfigsResult)
    return result


@pytest.mark.parametrize("resource_type", [GROUP, CLIENT_METRICS])
def test_groups_and_client_metrics_have_no_settings(client: RawClient, resource_type: int) -> None:
    found = described(client, resource_type, "some")
    assert (found.error_code, found.configs) == (0, [])
    assert described(client, resource_type, "").error_code == ErrorCode.INVALID_REQUEST


def test_loggers_have_levels(client: RawClient) -> None:
    found = described(client, LOGGER, "1")
    assert found.error_code == 0
    levels = {config.name: config.value for config in found.configs}
    assert levels["root"] == "INFO"
    assert "barnabas.broker.net.dispatcher" in levels
    assert all(config.read_only and config.config_source == 6 for config in found.configs)
    assert described(client, LOGGER, "7").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("name", "level"), [("transaction.version", 1), ("group.version", 1)])
def test_features_are_fixed(client: RawClient, name: str, level: int) -> None:
    updates = [
        features.FeatureUpdateKey("transaction.version", 2),
        features.FeatureUpdateKey(name, level),
    ]
    request = features.UpdateFeaturesRequest(feature_updates=updates)
    answer = client.ask(request)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"Invalid update version {level} for feature {name}" in answer.error_message
    results = client.ask(request, 1).results
    assert {each.error_code for each in results} == {ErrorCode.INVALID_UPDATE_VERSION}


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
