"""Transactions: who writes what together, and how it ends, as a pure state machine."""

from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import MarkersToWrite, TopicPartition, TransactionDecision
from barnabas.transactions.shard import TransactionShard

__all__ = [
    "MarkersToWrite",
    "TopicPartition",
    "TransactionConfig",
    "TransactionDecision",
    "TransactionShard",
]
