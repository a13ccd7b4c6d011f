"""How large a request of each API may be: next to the schema, which says what it consists of.

A broker decodes and handles a request in one turn of its event loop, or a part of it, so an API
with elements that are decided together has a lower limit. What is not in the table has the
defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.wire.message import Request

_RECORDS_BYTES = 2**31
"""For requests with records, which `socket.request.max.bytes` already limits."""
_PRODUCED = 6_000
"""In Produce, which is decoded and handled at once: three thousand topics with a partition each, or
six thousand partitions of one."""
_OF_MANY_PARTITIONS = 1_000_000
"""In requests in which a node reports all of its partitions."""
_USERS = 5_000
"""Users whose credentials one request changes, in one decision of the controller."""
_MEMBERS = 5_000
"""Members that leave a group with one request, in one decision."""
_AT_ONCE = 10_000
"""In a request that is decided as a whole, or that may be for a single resource."""
_LISTED = 20_000
"""In a request that is looked up or verified as a whole: topics in Metadata, offsets in a
transaction, new topics with their settings, which the controller decodes at once too."""
_FEW = 1_000
"""In a request that names a handful of things, or that strangers may send: those who have not
signed in must not keep the event loop busy."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may have at most."""

    size: int = 16 << 20
    """Bytes."""
    elements: int = 40_000
    """Array elements and tagged fields: all partitions that a node can have stay below it."""
    peer_elements: int = 100_000
    """The same for requests of nodes, which report all of their partitions."""


LIMITS: Mapping[str, RequestLimits] = {
    "AddPartitionsToTxnRequest": RequestLimits(elements=_AT_ONCE),
    "AddRaftVoterRequest": RequestLimits(elements=_FEW),
    "AlterClientQuotasRequest": RequestLimits(elements=_AT_ONCE),
    "AlterConfigsRequest": RequestLimits(elements=_AT_ONCE),
    "AlterPartitionRequest": RequestLimits(peer_elements=_OF_MANY_PARTITIONS),
    "AlterReplicaLogDirsRequest": RequestLimits(elements=_AT_ONCE),
    "AlterUserScramCredentialsRequest": RequestLimits(elements=_USERS),
    "ApiVersionsRequest": RequestLimits(elements=_FEW),
    "BeginQuorumEpochRequest": RequestLimits(elements=_FEW),
    "CreatePartitionsRequest": RequestLimits(elements=_AT_ONCE),
    "CreateTopicsRequest": RequestLimits(elements=_LISTED),
    "DeleteShareGroupStateRequest": RequestLimits(elements=_FEW),
    "DescribeClusterRequest": RequestLimits(elements=_FEW),
    "DescribeQuorumRequest": RequestLimits(elements=_FEW),
    "EndQuorumEpochRequest": RequestLimits(elements=_FEW),
    "FetchRequest": RequestLimits(peer_elements=_OF_MANY_PARTITIONS),
    "FetchSnapshotRequest": RequestLimits(elements=_FEW),
    "IncrementalAlterConfigsRequest": RequestLimits(elements=_AT_ONCE),
    "InitializeShareGroupStateRequest": RequestLimits(elements=_FEW),
    "JoinGroupRequest": RequestLimits(elements=_FEW),
    "LeaveGroupRequest": RequestLimits(elements=_MEMBERS),
    "ListConfigResourcesRequest": RequestLimits(elements=_FEW),
    "ListGroupsRequest": RequestLimits(elements=_FEW),
    "MetadataRequest": RequestLimits(elements=_LISTED),
    "ProduceRequest": RequestLimits(size=_RECORDS_BYTES, elements=_PRODUCED),
    "ReadShareGroupStateRequest": RequestLimits(elements=_FEW),
    "ReadShareGroupStateSummaryRequest": RequestLimits(elements=_FEW),
    "SaslAuthenticateRequest": RequestLimits(elements=_FEW),
    "SaslHandshakeRequest": RequestLimits(elements=_FEW),
    "TxnOffsetCommitRequest": RequestLimits(elements=_LISTED),
    "UpdateFeaturesRequest": RequestLimits(elements=_FEW),
    "VoteRequest": RequestLimits(elements=_FEW),
    "WriteShareGroupStateRequest": RequestLimits(elements=_FEW, peer_elements=_OF_MANY_PARTITIONS),
    "WriteTxnMarkersRequest": RequestLimits(elements=_AT_ONCE, peer_elements=_OF_MANY_PARTITIONS),
}
"""By the name of the request in the schema."""

_DEFAULT = RequestLimits()


def limits_of(request_type: type[Request[Any]]) -> RequestLimits:
    """The limits of an API."""
    return LIMITS.get(request_type.__name__, _DEFAULT)
