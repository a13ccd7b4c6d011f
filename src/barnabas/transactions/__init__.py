"""The transaction coordinator as a pure state machine.

shard.py                  all transactional ids of one partition: requests, replay, deadlines
transactions_image.py     persistent: the image of each transactional id, by replay
  image.py, state.py, records.py
transaction.py            soft: the pending change, missing markers, deadlines
transaction_counts.py     how many began, committed and aborted, and how long they took
init_producer_id.py add_partitions.py end_txn.py markers.py timeouts.py identity_check.py
admin.py                  DescribeTransactions, ListTransactions
"""

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
