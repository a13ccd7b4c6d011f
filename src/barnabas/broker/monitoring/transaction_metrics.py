"""Metrics of transactions: of those that this node coordinates, and of those open in partitions."""

from collections import Counter

from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.slices import Slices
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Kind, Metric
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode

_SLICE = 2_000
_LATE_MS = 5 * 60_000
"""As in Kafka: a coordinator has had this long to end a transaction after its timeout."""
_STATES = (
    TxnState.EMPTY,
    TxnState.ONGOING,
    TxnState.PREPARE_COMMIT,
    TxnState.PREPARE_ABORT,
    TxnState.COMPLETE_COMMIT,
    TxnState.COMPLETE_ABORT,
)

_IDS = gauge(
    "barnabas_transactional_ids",
    "Transactional ids that are coordinated here, by state",
    "state",
    alarm="PrepareCommit or PrepareAbort above 0 for 5 minutes: markers can't be written, and "
    "readers of committed records wait",
)
_BEGUN = counter("barnabas_transactions_begun_total", "Transactions begun")
_ENDED = counter(
    "barnabas_transactions_ended_total",
    "Transactions committed or aborted",
    "outcome",
    alarm="aborts above what is usual: producers fail, or exceed their transaction timeout",
)
_DURATIONS = Metric(
    "barnabas_transaction_duration_seconds",
    Kind.HISTOGRAM,
    "Time from the first partition of a transaction to its commit or abort",
    ("le",),
)
_VERIFICATION_FAILURES = counter(
    "barnabas_transaction_verification_failures_total",
    "Batches refused, as their transaction could not be verified with its coordinator",
)
_PRODUCERS = gauge(
    "kafka_server_replicamanager_produceridcount",
    "Idempotent and transactional producers known in partitions that this node leads",
)
_LATE = gauge(
    "kafka_server_replicamanager_partitionswithlatetransactionscount",
    "Partitions led here with a transaction that is open and idle for 5 minutes longer than "
    "transaction.max.timeout.ms",
    alarm="above 0: it hangs, and readers of committed records wait; "
    "`barnabas transactions find-hanging` names it",
)
METRICS = (_IDS, _BEGUN, _ENDED, _DURATIONS, _VERIFICATION_FAILURES, _PRODUCERS, _LATE)


class OpenTransactions:
    """Counts producers and late transactions of the partitions that are led here."""

    def __init__(self, node: Node) -> None:
        self._late_ms = node.clock.now_ms() - node.config.transactions.max_timeout_ms - _LATE_MS
        self.producers = 0
        self.late = 0

    def add(self, partition: Partition) -> None:
        table = partition.log.producer_state.loaded
        if table is None or partition.leading is None:
            return
        self.producers += table.count
        for producer_id in table.transactions.ongoing:
            entry = table.get(producer_id)
            if entry is not None and entry.last_append_ms < self._late_ms:
                self.late += 1
                return


def collect(node: Node, samples: Samples, open_here: OpenTransactions) -> Slices[None]:
    states: Counter[TxnState] = Counter()
    looked = 0
    for shard in tuple(node.transactions.shards):
        if shard.error is not ErrorCode.NONE:
            continue
        for transactional_id in tuple(shard.image):
            image = shard.image.get(transactional_id)
            if image is not None:
                states[image.state] += 1
            looked += 1
            if looked % _SLICE == 0:
                yield
    for state in _STATES:
        samples.add(_IDS, states[state], state=state.label)
    counts = node.transactions.counts
    samples.add(_BEGUN, counts.begun)
    samples.add(_ENDED, counts.committed, outcome="commit")
    samples.add(_ENDED, counts.aborted, outcome="abort")
    samples.add_histogram(_DURATIONS, counts.durations)
    samples.add(_VERIFICATION_FAILURES, node.transaction_verification.failures)
    samples.add(_PRODUCERS, open_here.producers)
    samples.add(_LATE, open_here.late)
