"""One transactional id, as the coordinator has it in memory."""

from barnabas.coordination.decision import Decision
from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import MarkersToWrite, TopicPartition
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import transaction_record
from barnabas.transactions.state import TxnState


class Transaction:
    """What is persisted of it, what is about to be, and what is still to be done.

    At most one step is in flight: until its record is committed, or is known not to be, the next
    one is refused with CONCURRENT_TRANSACTIONS. So the record last appended is the last word.
    """

    __slots__ = (
        "config",
        "deadline_ms",
        "image",
        "markers",
        "not_before_ms",
        "proposed",
        "transactional_id",
        "unmarked",
    )

    def __init__(self, transactional_id: str, config: TransactionConfig) -> None:
        self.transactional_id = transactional_id
        self.config = config
        self.image: TransactionImage | None = None
        """What is persisted; None while its first record is in flight."""
        self.proposed: TransactionImage | None = None
        """What is in flight."""
        self.markers: MarkersToWrite | None = None
        """What goes to the partitions while an end is under way."""
        self.unmarked: set[TopicPartition] = set()
        """The partitions that have not been told yet how the transaction ended."""
        self.deadline_ms = 0
        """When the ongoing transaction is aborted, in steady time: it begins anew after loading."""
        self.not_before_ms = 0
        """When what nobody waits for may be tried again, after it could not be persisted."""

    @property
    def is_busy(self) -> bool:
        """Whether a step is in flight, or an end is decided and not all partitions know."""
        return self.proposed is not None or (
            self.image is not None and self.image.state.is_prepared
        )

    def propose(self, image: TransactionImage, decision: Decision) -> None:
        assert self.proposed is None, "one step at a time"
        self.proposed = image
        decision.records.append(transaction_record(self.transactional_id, image))

    def adopt(self, image: TransactionImage, now_ms: int, *, starts: bool = False) -> None:
        """This is persisted. If it `starts`, time runs from now on, as it does after loading."""
        before = self.image
        if before is None or before.state is not TxnState.ONGOING:
            starts = True
        elif before.timeout_ms != image.timeout_ms:
            starts = True  # a new instance has kept it, and says how long it may take
        self.image = image
        self.proposed = None
        self.not_before_ms = 0
        self.markers = None
        self.unmarked = set(image.partitions) if image.state.is_prepared else set()
        if image.state is TxnState.ONGOING and starts:
            self.deadline_ms = now_ms + image.timeout_ms

    def withdraw(self, now_ms: int) -> None:
        """What was in flight is not persisted."""
        self.proposed = None
        self.try_later(now_ms)

    def try_later(self, now_ms: int) -> None:
        self.not_before_ms = now_ms + self.config.persist_retry_ms

    @property
    def is_void(self) -> bool:
        return self.image is None and self.proposed is None

    def next_deadline_ms(self) -> int | None:
        """When there is something to do for it that nobody asks for."""
        image = self.image
        if image is None or self.proposed is not None or self.unmarked:
            return None
        if image.state is TxnState.ONGOING:
            if not image.has_timeout:
                return None
            due_ms = self.deadline_ms
        elif image.state.is_prepared:
            due_ms = 0
        else:
            due_ms = image.last_update_ms + self.config.transactional_id_expiration_ms
        return max(due_ms, self.not_before_ms)
