"""The soft state of one transactional id: what is pending, which markers are missing, deadlines."""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import MarkersToWrite, TopicPartition
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import transaction_record
from barnabas.transactions.state import TxnState
from barnabas.transactions.transactions_image import TransactionsImage


class Transaction:
    """What is persistent is `image`, which only a replayed record changes.

    At most one change is pending: until its record is committed, or is known not to be, the next
    one is refused with CONCURRENT_TRANSACTIONS. So the last record in the log always counts.
    """

    __slots__ = (
        "_images",
        "config",
        "deadline_ms",
        "markers",
        "not_before_ms",
        "pending",
        "transactional_id",
        "unmarked",
    )

    def __init__(
        self, transactional_id: str, config: TransactionConfig, images: TransactionsImage
    ) -> None:
        self.transactional_id = transactional_id
        self.config = config
        self._images = images
        self.pending: TransactionImage | None = None
        """What the image becomes when the record in flight is committed."""
        self.markers: MarkersToWrite | None = None
        """The markers that are being written while the transaction ends."""
        self.unmarked: set[TopicPartition] = set()
        """The partitions that have no marker yet."""
        self.deadline_ms = 0
        """When the ongoing transaction is aborted, in steady time: loading restarts the timeout."""
        self.not_before_ms = 0
        """Earliest retry of an internal change, one no client waits for, that failed to persist."""

    @property
    def image(self) -> TransactionImage | None:
        """What is persisted; None while its first record is in flight."""
        return self._images.get(self.transactional_id)

    @property
    def is_busy(self) -> bool:
        """Whether a change is pending, or markers of an ended transaction are missing."""
        if self.pending is not None:
            return True
        image = self.image
        return image is not None and image.state.is_prepared

    def propose(self, image: TransactionImage, decision: CoordinatorDecision) -> None:
        """Add the record that makes `image` the image; `replayed` or `withdraw` must follow."""
        assert self.pending is None, "one change at a time"
        self.pending = image
        decision.records.append(transaction_record(self.transactional_id, image))

    def replayed(self, before: TransactionImage | None, now_ms: int) -> None:
        """The image was replaced by a replayed record; it was `before`, or None after loading."""
        self.pending = None
        self.not_before_ms = 0
        self.markers = None
        self.unmarked = set()
        image = self.image
        if image is None:
            return
        if image.state.is_prepared:
            self.unmarked = set(image.partitions)
        if image.state is TxnState.ONGOING and (
            before is None
            or before.state is not TxnState.ONGOING
            or before.timeout_ms != image.timeout_ms  # a new instance keeps it, with its timeout
        ):
            self.deadline_ms = now_ms + image.timeout_ms

    def withdraw(self, now_ms: int) -> None:
        """The pending change was not persisted."""
        self.pending = None
        self.retry_later(now_ms)

    def retry_later(self, now_ms: int) -> None:
        self.not_before_ms = now_ms + self.config.persist_retry_ms

    @property
    def is_void(self) -> bool:
        """Whether nothing would be lost if it were forgotten."""
        return self.pending is None and self.image is None

    def next_deadline_ms(self) -> int | None:
        """When it times out, expires, or is completed."""
        image = self.image
        if image is None or self.pending is not None or self.unmarked:
            return None
        if image.state is TxnState.ONGOING:
            if not image.has_timeout:
                return None
            due_ms = self.deadline_ms
        elif image.state.is_prepared:
            due_ms = 0
        else:
            due_ms = self.expires_ms(image)
        return max(due_ms, self.not_before_ms)

    def expires_ms(self, image: TransactionImage) -> int:
        """When the id expires if it is not used again."""
        return image.last_update_ms + self.config.transactional_id_expiration_ms
