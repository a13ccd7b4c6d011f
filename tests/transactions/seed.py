"""Transactional ids that begin in a certain state."""

from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import transaction_record
from barnabas.transactions.state import TxnState
from tests.transactions.shell import ID, TIMEOUT_MS, Shell


def seeded(*, epoch: int = 0, state: TxnState = TxnState.EMPTY, **others: object) -> Shell:
    """A shell whose log says that; what is prepared there stays so until it is marked."""
    image = TransactionImage(7, epoch, TIMEOUT_MS, state, 0, **others)  # type: ignore[arg-type]
    shell = Shell(log=[transaction_record(ID, image)])
    shell.marks_at_once = not state.is_prepared
    return shell.start()
