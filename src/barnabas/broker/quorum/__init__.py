"""The quorum: this node's replica of the metadata log, on its disk and among the other nodes.

messages/  Raft's messages as Kafka's, one file per API
"""

from barnabas.broker.quorum.metadata_topic import METADATA_TOPIC_ID, is_metadata_fetch
from barnabas.broker.quorum.outcome import NotLeader, OutcomeUnknown, QuorumStopped
from barnabas.broker.quorum.quorum import Quorum

__all__ = [
    "METADATA_TOPIC_ID",
    "NotLeader",
    "OutcomeUnknown",
    "Quorum",
    "QuorumStopped",
    "is_metadata_fetch",
]
