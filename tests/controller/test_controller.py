"""Topics and settings through the controller, and how much it can take."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_configs as plain
from barnabas.wire.messages import incremental_alter_configs as incremental
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from tests.controller.small_cluster import SmallCluster
from tests.support.steps import at_most_steps

TOPIC, BROKER = 2, 4


def change(cluster: SmallCluster, resource: tuple[int, str], name: str, value: str) -> int:
    request = incremental.IncrementalAlterConfigsRequest(
        [incremental.AlterConfigsResource(*resource, [incremental.AlterableConfig(name, 0, value)])]
    )
    answer = cluster.agree(cluster.controller.incremental_alter_configs(request))
    (result,) = answer.responses
    assert (result.resource_type, result.resource_name) == resource
    return result.error_code


def create(cluster: SmallCluster, name: str) -> int:
    request = CreateTopicsRequest([CreatableTopic(name, -1, -1)])
    return cluster.agree(cluster.controller.create_topics(request)).topics[0].error_code


def delete(cluster: SmallCluster, name: str) -> int:
    request = DeleteTopicsRequest(topic_names=[name])
    return cluster.agree(cluster.controller.delete_topics(request)).responses[0].error_code


def test_settings_that_change_while_running_take_effect() -> None:
    cluster = SmallCluster(2, static={"num.partitions": "2"})
    assert create(cluster, "a") == 0
    assert len(cluster.agreed.topics["a"].partitions) == 2
    assert change(cluster, (BROKER, ""), "num.partitions", "5") == 0
    assert create(cluster, "b") == 0
    assert len(cluster.agreed.topics["b"].partitions) == 5
    assert delete(cluster, "a") == 0
    assert change(cluster, (BROKER, "1"), "delete.topic.enable", "false") == 0
    assert delete(cluster, "b") == ErrorCode.TOPIC_DELETION_DISABLED


def test_a_decision_is_known_to_the_next() -> None:
    cluster = SmallCluster(1)
    assert create(cluster, "a") == 0
    assert create(cluster, "a") == ErrorCode.TOPIC_ALREADY_EXISTS


def test_settings_of_every_broker_there_is() -> None:
    cluster = SmallCluster(2)
    assert change(cluster, (BROKER, "2"), "num.partitions", "5") == 0
    assert change(cluster, (BROKER, "3"), "num.partitions", "5") == ErrorCode.INVALID_REQUEST
    assert change(cluster, (TOPIC, "a"), "retention.ms", "5") != 0
    assert cluster.records == []


def test_each_resource_on_its_own() -> None:
    cluster = SmallCluster(1)
    cluster.create([1], name="a")
    request = plain.AlterConfigsRequest(
        [
            plain.AlterConfigsResource(TOPIC, "a", [plain.AlterableConfig("retention.ms", "5")]),
            plain.AlterConfigsResource(TOPIC, "b", []),
            plain.AlterConfigsResource(TOPIC, "a", [plain.AlterableConfig("flush.ms", "6")]),
        ]
    )
    request.validate_only = True
    expected = [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    answer = cluster.agree(cluster.controller.alter_configs(request))
    assert [result.error_code for result in answer.responses] == expected
    assert cluster.records == []
    request.validate_only = False
    answer = cluster.agree(cluster.controller.alter_configs(request))
    assert [result.error_code for result in answer.responses] == expected
    assert cluster.agreed.topic_configs("a") == {"flush.ms": "6"}


def test_the_controller_has_an_image_of_its_own() -> None:
    cluster = SmallCluster(1)
    cluster.controller.create_topics(CreateTopicsRequest([CreatableTopic("a", 1, 1)]))
    assert cluster.controller.pending_image.topics.keys() == {"a"}
    assert cluster.agreed.topics == {}


@pytest.mark.parametrize("what", ["fence", "copy"])
def test_ten_thousand_partitions(what: str) -> None:
    """More steps than it takes, but far fewer than something quadratic would."""
    cluster = SmallCluster(5)
    for number in range(10):
        cluster.create_topic(CreatableTopic(f"t{number}", 1000, 3))
    cluster.controller.disconnected(1, 0)
    with at_most_steps(1_000_000):
        if what == "copy":
            assert cluster.controller.pending_image.copy() == cluster.agreed
        else:
            decision = cluster.controller.tick(1000)
            assert len(decision.records) == 2001
