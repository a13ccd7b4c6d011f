"""How the coordinators' topics are created."""

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.controller.configs import BrokerSettings
from barnabas.controller.internal_topics import internal_request
from barnabas.metadata.image import CONSUMER_OFFSETS, TRANSACTION_STATE, MetadataImage
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


@pytest.mark.parametrize(
    ("topic", "static", "min_isr"),
    [
        (TRANSACTION_STATE, {}, None),
        (TRANSACTION_STATE, {"transaction.state.log.min.isr": "2"}, "2"),
        (CONSUMER_OFFSETS, {"transaction.state.log.min.isr": "2"}, None),
    ],
)
def test_min_isr(topic: str, static: dict[str, str], min_isr: str | None) -> None:
    settings = ClusterSettings(BrokerSettings(1, BROKER_CONFIGS, static), MetadataImage())
    request = internal_request(CreateTopicsRequest([CreatableTopic(topic, -1, -1)]), settings)
    (created,) = request.topics
    configs = {config.name: config.value for config in created.configs}
    assert configs.get("min.insync.replicas") == min_isr
