"""Our bytes are byte for byte those of independent implementations of the protocol."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.foreign_codecs import CODECS, ForeignCodec
from tests.support.messages import (
    MESSAGES,
    KnownMessage,
    encode,
    in_version,
    kafka_instances,
)
from tests.support.tier import examples
from tools.codegen.schema import Field

quick = settings(
    max_examples=examples(15),
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate, Phase.shrink],
)


def known_to(codec: ForeignCodec) -> list[KnownMessage]:
    return [m for m in MESSAGES if any(codec.knows(m, v) for v in m.versions)]


UNCOVERED = {
    # Only advertised, and answered with UNSUPPORTED_VERSION; both codecs dropped them.
    "ProduceRequest": {0, 1, 2},
    "ProduceResponse": {0, 1, 2},
    # kafka-python has no codec for what only nodes say, kio dropped the versions of old Kafkas.
    "AlterPartitionRequest": {0, 1},
    "AlterPartitionResponse": {0, 1},
    # kafka-python has no delegation tokens, kio makes objects of their times (`foreign_codecs.py`).
    "CreateDelegationTokenRequest": {1, 2, 3},
    "CreateDelegationTokenResponse": {1, 2, 3},
    "RenewDelegationTokenRequest": {1, 2},
    "RenewDelegationTokenResponse": {1, 2},
    "ExpireDelegationTokenRequest": {1, 2},
    "ExpireDelegationTokenResponse": {1, 2},
    # Records of internal topics never meet a client, so client libraries have no codec for them.
    # (Those of the quorum itself kio has.)
    "OffsetCommitKey": {0, 1},
    "OffsetCommitValue": {0, 1, 2, 3, 4},
    "GroupMetadataKey": {2},
    "GroupMetadataValue": {0, 1, 2, 3, 4},
    "TransactionLogKey": {0},
    "TransactionLogValue": {0, 1},
    "RegisterBrokerRecord": {0, 1, 2, 3},
    "UnregisterBrokerRecord": {0},
    "BrokerRegistrationChangeRecord": {0, 1, 2},
    "NoOpRecord": {0},
    "RemoveUserScramCredentialRecord": {0},
    "UserScramCredentialRecord": {0},
    "AccessControlEntryRecord": {0},
    "RemoveAccessControlEntryRecord": {0},
    "ClientQuotaRecord": {0},
    "DelegationTokenRecord": {0},
    "RemoveDelegationTokenRecord": {0},
    "PartitionChangeRecord": {0, 1, 2},
    "TopicRecord": {0},
    "PartitionRecord": {0, 1, 2},
    "ConfigRecord": {0},
    "FeatureLevelRecord": {0},
    "RemoveTopicRecord": {0},
    "ProducerIdsRecord": {0},
    "ConsumerGroupMetadataKey": {3},
    "ConsumerGroupMetadataValue": {0},
    "ConsumerGroupMemberMetadataKey": {5},
    "ConsumerGroupMemberMetadataValue": {0},
    "ConsumerGroupTargetAssignmentMetadataKey": {6},
    "ConsumerGroupTargetAssignmentMetadataValue": {0},
    "ConsumerGroupTargetAssignmentMemberKey": {7},
    "ConsumerGroupTargetAssignmentMemberValue": {0},
    "ConsumerGroupCurrentMemberAssignmentKey": {8},
    "ConsumerGroupCurrentMemberAssignmentValue": {0},
    "ConsumerGroupRegularExpressionKey": {16},
    "ConsumerGroupRegularExpressionValue": {0},
    "ShareSnapshotKey": {0},
    "ShareSnapshotValue": {0},
    "ShareUpdateKey": {1},
    "ShareUpdateValue": {0},
    "ShareGroupMemberMetadataKey": {10},
    "ShareGroupMemberMetadataValue": {0},
    "ShareGroupMetadataKey": {11},
    "ShareGroupMetadataValue": {0},
    "ShareGroupTargetAssignmentMetadataKey": {12},
    "ShareGroupTargetAssignmentMetadataValue": {0},
    "ShareGroupTargetAssignmentMemberKey": {13},
    "ShareGroupTargetAssignmentMemberValue": {0},
    "ShareGroupCurrentMemberAssignmentKey": {14},
    "ShareGroupCurrentMemberAssignmentValue": {0},
    "ShareGroupStatePartitionMetadataKey": {15},
    "ShareGroupStatePartitionMetadataValue": {0},
}
"""The (message, version) pairs that no independent codec knows, and why."""

PAIRS = [(codec, known) for codec in CODECS for known in known_to(codec)]


@pytest.mark.parametrize(("codec", "known"), PAIRS, ids=lambda x: getattr(x, "name", str(x)))
@quick
@given(data=st.data())
def test_bytes_are_the_same(codec: ForeignCodec, known: KnownMessage, data: st.DataObject) -> None:
    message = data.draw(kafka_instances(known))
    for version in known.versions:
        if not codec.knows(known, version):
            continue
        ours = in_version(known, message, version)
        our_bytes = encode(ours, version)
        theirs = codec.decode(known, version, our_bytes)
        _assert_same(codec, known, ours, theirs, known.block.fields, version)
        assert codec.encode(known, version, theirs) == our_bytes


def _assert_same(
    codec: ForeignCodec,
    known: KnownMessage,
    ours: Any,
    theirs: Any,
    fields: list[Field],
    version: int,
) -> None:
    """Equal bytes could hide two swapped fields of one type, so names are compared too."""
    for f in known.present(fields):
        if version not in f.versions or f.is_own:
            continue
        mine, other = getattr(ours, f.attribute), codec.field(theirs, f)
        if f.is_basic or mine is None:
            assert other == mine, f.name
            continue
        inner = known.fields_of(f)
        pairs = zip(mine, other, strict=True) if f.is_array else [(mine, other)]
        for one, two in pairs:
            _assert_same(codec, known, one, two, inner, version)


def test_every_other_message_is_compared_in_every_version() -> None:
    missing = {
        str(known): versions
        for known in MESSAGES
        if (
            versions := {
                version
                for version in known.versions
                if not any(codec.knows(known, version) for codec in CODECS)
            }
        )
    }
    assert missing == UNCOVERED


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_both_codecs_know_nearly_everything(codec: ForeignCodec) -> None:
    """A new release of a codec that stops to know a message should not go unnoticed."""
    versions = [(known, v) for known in MESSAGES for v in known.versions]
    compared = [(known, v) for known, v in versions if codec.knows(known, v)]
    assert len(compared) > 0.7 * len(versions)
