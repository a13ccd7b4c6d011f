"""Levels of features: raised once all nodes support them, and kept."""

import re

import pytest

from barnabas.controller.features.node_features import NOT_REGISTERED, AllFeatures, NodeFeatures
from barnabas.metadata.features import (
    BEFORE_FEATURES,
    FIRST_LEVELS,
    METADATA_VERSION,
    SUPPORTED,
    FeatureRange,
    FeatureRanges,
)
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_registration import Feature
from barnabas.wire.messages.metadata_records import FeatureLevelRecord, RegisterBrokerRecord
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.controller.small_cluster import SmallCluster

FIRST, SECOND = SUPPORTED[METADATA_VERSION]
OWN = [Feature(name, *levels) for name, levels in SUPPORTED.items()]
VOTER_ONLY = 9


def asked(cluster: SmallCluster, **ranges: FeatureRanges | None) -> AllFeatures:
    """All nodes are of this release, but for those given, as n2=..."""
    found = {
        node_id: NodeFeatures(SUPPORTED, broker.epoch)
        for node_id, broker in cluster.agreed.brokers.items()
    }
    found[VOTER_ONLY] = NodeFeatures(SUPPORTED, NOT_REGISTERED)
    for name, of_node in ranges.items():
        node_id = int(name[1:])
        found[node_id] = NodeFeatures(of_node, found[node_id].broker_epoch)
    return found


def update(
    cluster: SmallCluster,
    nodes: AllFeatures,
    level: int = SECOND,
    name: str = METADATA_VERSION,
    upgrade_type: int = 1,
    *,
    validate_only: bool = False,
) -> UpdateFeaturesResponse:
    updates = [FeatureUpdateKey(name, level, upgrade_type=upgrade_type)]
    request = UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only)
    return cluster.agree(cluster.controller.update_features(request, nodes))


def test_a_cluster_without_records_has_the_first_levels() -> None:
    image = MetadataImage()
    assert image.features.in_force() == FIRST_LEVELS
    assert image.features.metadata_version == FIRST
    assert list(image.features.records()) == []
    assert image.features.unsupported_by(BEFORE_FEATURES) is None


def test_a_level_that_all_nodes_support_is_raised() -> None:
    cluster = SmallCluster()
    assert update(cluster, asked(cluster)).error_code == 0
    assert [repr(record) for record in cluster.records] == [
        repr(FeatureLevelRecord(METADATA_VERSION, SECOND))
    ]
    assert cluster.agreed.features.metadata_version == SECOND
    again = update(cluster, asked(cluster, n2=None))
    assert (again.error_code, cluster.records) == (0, [])


def test_a_snapshot_has_the_levels_first() -> None:
    cluster = SmallCluster()
    update(cluster, asked(cluster))
    records = cluster.agreed.snapshot()
    assert isinstance(records[0], FeatureLevelRecord)
    restored = MetadataImage()
    restored.restore(records)
    assert restored == cluster.agreed
    restored.restore([])
    assert restored.features.metadata_version == FIRST


def test_a_copy_of_an_image_has_its_own_levels() -> None:
    image = MetadataImage()
    copied = image.copy()
    copied.replay(FeatureLevelRecord(METADATA_VERSION, SECOND))
    assert image.features.metadata_version == FIRST
    assert copied.copy() == copied


@pytest.mark.parametrize(
    ("ranges", "is_supported"),
    [
        (SUPPORTED, True),
        (BEFORE_FEATURES, False),
        ({METADATA_VERSION: FeatureRange(SECOND, SECOND + 3)}, True),
        ({METADATA_VERSION: FeatureRange(SECOND + 1, SECOND + 3)}, False),
        ({}, False),
    ],
)
def test_who_can_not_be_in_a_cluster(ranges: FeatureRanges, is_supported: bool) -> None:
    image = MetadataImage()
    image.replay(FeatureLevelRecord(METADATA_VERSION, SECOND))
    why = image.features.unsupported_by(ranges)
    assert (why is None) == is_supported
    assert why is None or f"{METADATA_VERSION} of the cluster is {SECOND}" in why


def test_validation_changes_nothing() -> None:
    cluster = SmallCluster()
    assert update(cluster, asked(cluster), validate_only=True).error_code == 0
    assert cluster.records == []
    refused = update(cluster, asked(cluster, n3=BEFORE_FEATURES), validate_only=True)
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ({"n2": BEFORE_FEATURES}, "node 2 supports 29: install a newer release on it"),
        ({f"n{VOTER_ONLY}": BEFORE_FEATURES}, f"node {VOTER_ONLY} supports 29: install"),
        ({"n3": None}, "node 3 does not tell what it supports: start it, or remove it"),
        ({"n1": {METADATA_VERSION: FeatureRange(40, 41)}}, "node 1 supports 40-41$"),
        ({"n1": {}}, "node 1 supports 0: install"),
    ],
)
def test_a_level_is_not_raised_above_what_a_node_supports(
    nodes: dict[str, FeatureRanges | None], why: str
) -> None:
    cluster = SmallCluster()
    answer = update(cluster, asked(cluster, **nodes))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.error_message is not None
    assert re.search(why, answer.error_message)
    assert cluster.agreed.features.metadata_version == FIRST


def test_a_node_that_restarted_since_it_was_asked_may_run_another_release() -> None:
    cluster = SmallCluster()
    nodes = asked(cluster)
    cluster.restart(2)
    answer = update(cluster, nodes)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "node 2 has just restarted: try again" in (answer.error_message or "")
    assert update(cluster, asked(cluster)).error_code == 0


def test_a_node_that_registered_since_was_not_asked() -> None:
    cluster = SmallCluster()
    nodes = asked(cluster)
    cluster.join(4)
    assert "node 4 does not tell" in (update(cluster, nodes).error_message or "")


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "why"),
    [
        (METADATA_VERSION, FIRST, 1, "older releases can't read"),
        (METADATA_VERSION, FIRST, 2, "older releases can't read"),
        (METADATA_VERSION, 0, 3, "older releases can't read"),
        (METADATA_VERSION, SECOND + 1, 1, "node 1 supports 29-30"),
        (METADATA_VERSION, SECOND + 1, 2, "so this is no downgrade"),
        (METADATA_VERSION, SECOND, 0, "0 is not a type of upgrade"),
        ("transaction.version", 1, 2, "it is 2"),
        ("streams.version", 1, 1, "there is no such feature"),
    ],
)
def test_other_updates_are_refused(name: str, level: int, upgrade_type: int, why: str) -> None:
    cluster = SmallCluster()
    update(cluster, asked(cluster))
    answer = update(cluster, asked(cluster), level, name, upgrade_type)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"Invalid update version {level} for feature {name}" in (answer.error_message or "")
    assert why in (answer.error_message or "")
    assert cluster.records == []


def test_all_updates_of_a_request_are_made_or_none() -> None:
    cluster = SmallCluster()
    updates = [FeatureUpdateKey(METADATA_VERSION, SECOND), FeatureUpdateKey("group.version", 7)]
    request = UpdateFeaturesRequest(feature_updates=updates)
    answer = cluster.agree(cluster.controller.update_features(request, asked(cluster)))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.agreed.features.metadata_version == FIRST
    twice = UpdateFeaturesRequest(feature_updates=updates[:1] * 2)
    answer = cluster.agree(cluster.controller.update_features(twice, asked(cluster)))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_a_node_that_can_not_read_the_metadata_is_not_registered() -> None:
    cluster = SmallCluster()
    assert cluster.register(4).error_code == 0  # without ranges: of the release before
    update(cluster, {**asked(cluster)})
    assert cluster.agreed.features.metadata_version == SECOND
    before = cluster.agreed.copy()
    assert cluster.register(4).error_code == ErrorCode.UNSUPPORTED_VERSION
    newer = [Feature(METADATA_VERSION, SECOND + 1, SECOND + 2)]
    assert cluster.register(5, features=newer).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert cluster.agreed == before
    assert cluster.register(4, features=OWN).error_code == 0


def test_registrations_have_ranges_from_their_level_on() -> None:
    cluster = SmallCluster()
    cluster.register(4, features=OWN)
    (record,) = (each for each in cluster.records if isinstance(each, RegisterBrokerRecord))
    assert record.features == []
    assert cluster.agreed.brokers[4].features == {}
    update(cluster, asked(cluster))
    cluster.register(4, features=OWN)
    assert cluster.agreed.brokers[4].features == SUPPORTED
    restored = MetadataImage()
    restored.restore(cluster.agreed.snapshot())
    assert restored.brokers[4].features == SUPPORTED
