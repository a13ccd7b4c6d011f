"""What is counted of the transactions that a node coordinates."""

from barnabas.metrics.histogram import Histogram
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.state import TxnState

DURATIONS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class TransactionCounts:
    """Counted when a record is committed; what is loaded after a change of leader is not."""

    __slots__ = ("aborted", "begun", "committed", "durations")

    def __init__(self) -> None:
        self.begun = 0
        self.committed = 0
        self.aborted = 0
        self.durations = Histogram(DURATIONS_S)
        """From the first partition to the decision to commit or abort, in seconds."""

    def changed(self, before: TransactionImage | None, image: TransactionImage | None) -> None:
        """A transactional id has a new image."""
        state = None if before is None else before.state
        if image is None or image.state is state:
            return
        if image.state is TxnState.ONGOING:
            self.begun += 1
        elif image.state.is_prepared and state is TxnState.ONGOING:
            if image.state is TxnState.PREPARE_COMMIT:
                self.committed += 1
            else:
                self.aborted += 1
            self.durations.observe(max(0, image.last_update_ms - image.start_ms) / 1_000)
