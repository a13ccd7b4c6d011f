"""What coordinators have decided about transactions, and whether the logs know nothing else.

- An end that is decided is carried out: what was to be committed is not aborted, nor the other way
  round, and nothing else begins before.
- Epochs of a producer id do not go back.
- A marker stands in a log only if its transaction was to end in this way, and not before that was
  committed: until then another coordinator may come, and decide otherwise.
"""

from collections.abc import Callable

from barnabas.log.producers.transactions import end_marker
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch
from barnabas.sim.checks.history import Violation
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import decode_image, decode_key
from barnabas.transactions.state import TxnState

_FOLLOWS = {
    TxnState.PREPARE_COMMIT: TxnState.COMPLETE_COMMIT,
    TxnState.PREPARE_ABORT: TxnState.COMPLETE_ABORT,
}

End = tuple[int, int, bool]
"""Of a producer id, in an epoch: whether it is a commit."""


class Decisions:
    """Told of what is committed in `__transaction_state`, and of markers as they are written."""

    def __init__(self, on_state: Callable[[TxnState], None] = lambda _: None) -> None:
        """`on_state` is called with each state that is committed."""
        self._on_state = on_state
        self._images: dict[str, TransactionImage] = {}
        self._epochs: dict[int, int] = {}
        self._ends: set[End] = set()
        self._written: dict[str, list[tuple[str, End]]] = {}
        """By process: markers that were written in its current turn, and where."""

    def learn(self, batch: memoryview) -> None:
        """A batch of `__transaction_state` is committed."""
        for record in decode_batch(batch):
            transactional_id = decode_key(bytes(record.key or b""))
            assert transactional_id is not None
            if record.value is None:
                self._images.pop(transactional_id, None)
            else:
                self._follows(transactional_id, decode_image(bytes(record.value)))

    def _follows(self, transactional_id: str, image: TransactionImage) -> None:
        self._on_state(image.state)
        before = self._images.get(transactional_id)
        self._images[transactional_id] = image
        if before is not None and image.state is not _FOLLOWS.get(before.state, image.state):
            raise Violation(f"{transactional_id} was {before}, and is {image}")
        if image.producer_epoch < self._epochs.get(image.producer_id, -1):
            raise Violation(f"{transactional_id} goes back to {image}")
        self._epochs[image.producer_id] = image.producer_epoch
        if image.state.is_prepared:
            commits = image.state is TxnState.PREPARE_COMMIT
            self._ends.add((*image.identity, commits))

    def wrote(self, process: str, where: str, header: BatchHeader, batch: memoryview) -> None:
        """A process writes a control batch to a log."""
        marker = end_marker(batch)
        if marker is not None:
            end = (header.producer_id, header.producer_epoch, marker.is_commit)
            self._written.setdefault(process, []).append((where, end))

    @property
    def has_written(self) -> bool:
        """Whether any process has written markers that are still to be checked."""
        return bool(self._written)

    def check(self, process: str) -> None:
        """A process has ended its turn, and what it has committed is known."""
        for where, end in self._written.pop(process, ()):
            if end not in self._ends:
                producer_id, epoch, commits = end
                raise Violation(
                    f"{where} of {process} has a marker that {'commits' if commits else 'aborts'} "
                    f"for producer {producer_id} in epoch {epoch}, which no coordinator has decided"
                )
