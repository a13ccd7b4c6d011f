"""How the coordinators' topics are created."""

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.controller.configs import BrokerSettings
from barnabas.controller.internal_topics import internal_request
from barnabas.metadata.image import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.controller.small_cluster import SmallCluster


@pytest.mark.parametrize(
    ("topic", "static", "min_isr"),
    [
        (TRANSACTION_STATE, {}, None),
        (TRANSACTION_STATE, {"transaction.state.log.min.isr": "2"}, "2"),
        (CONSUMER_OFFSETS, {"transaction.state.log.min.isr": "2"}, None),
        (SHARE_GROUP_STATE, {"share.coordinator.state.topic.min.isr": "2"}, "2"),
    ],
)
def test_min_isr(topic: str, static: dict[str, str], min_isr: str | None) -> None:
    assert min_isr_of(topic, static, brokers=2) == min_isr


@pytest.mark.parametrize("topic", [CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE])
def test_what_a_coordinator_acknowledged_survives_the_loss_of_a_disk(topic: str) -> None:
    assert min_isr_of(topic, {}, brokers=2) is None
    assert min_isr_of(topic, {}, brokers=3) == "2"
    assert min_isr_of(topic, {"min.insync.replicas": "3"}, brokers=5) == "3"
    assert min_isr_of(topic, {"default.replication.factor": "2"}, brokers=5) is None
    assert min_isr_of(topic, {"default.replication.factor": "3"}, brokers=2) == "2"


def test_one_may_be_asked_for() -> None:
    assert min_isr_of(TRANSACTION_STATE, {"transaction.state.log.min.isr": "1"}, brokers=3) == "1"


def min_isr_of(topic: str, static: dict[str, str], brokers: int) -> str | None:
    image = SmallCluster(brokers).agreed
    settings = ClusterSettings(BrokerSettings(1, BROKER_CONFIGS, static), image)
    request = internal_request(CreateTopicsRequest([CreatableTopic(topic, -1, -1)]), settings)
    (created,) = request.topics
    configs = {config.name: config.value for config in created.configs}
    return configs.get("min.insync.replicas")
