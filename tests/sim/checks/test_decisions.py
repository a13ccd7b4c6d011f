"""What coordinators decide, what the logs say of it, and where the two differ."""

from dataclasses import replace

import pytest

from barnabas.records.batch import parse_header
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.encode import encode_batch
from barnabas.sim.checks.decisions import Decisions
from barnabas.sim.checks.history import Violation
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import transaction_record
from barnabas.transactions.state import TxnState

ONGOING = TransactionImage(7, 3, 1000, TxnState.ONGOING, 0, 0, frozenset({("out", 0)}))
NODE = "node-1#1"


def _learn(decisions: Decisions, image: TransactionImage) -> None:
    key, value = transaction_record("tx", image)
    decisions.learn(memoryview(encode_batch([(0, key, value, ())])))


def _write(decisions: Decisions, *, commits: bool, epoch: int = 3) -> None:
    marker = encode_end_marker(
        ControlType.COMMIT if commits else ControlType.ABORT,
        timestamp_ms=0,
        producer_id=7,
        producer_epoch=epoch,
        coordinator_epoch=0,
    )
    decisions.wrote(NODE, "out-0", parse_header(marker), memoryview(marker))


def test_what_is_decided_is_written() -> None:
    decisions = Decisions()
    _learn(decisions, ONGOING)
    _write(decisions, commits=True)  # in the turn in which the decision is committed
    _learn(decisions, replace(ONGOING, state=TxnState.PREPARE_COMMIT))
    decisions.check(NODE)
    _learn(decisions, replace(ONGOING, state=TxnState.COMPLETE_COMMIT))
    _learn(decisions, replace(ONGOING, state=TxnState.EMPTY, producer_epoch=4))


@pytest.mark.parametrize(("commits", "epoch"), [(False, 3), (True, 4)])
def test_a_marker_that_nobody_has_decided(commits: bool, epoch: int) -> None:
    decisions = Decisions()
    _learn(decisions, replace(ONGOING, state=TxnState.PREPARE_COMMIT))
    _write(decisions, commits=commits, epoch=epoch)
    with pytest.raises(Violation, match="which no coordinator has decided"):
        decisions.check(NODE)


@pytest.mark.parametrize("state", [TxnState.COMPLETE_ABORT, TxnState.ONGOING, TxnState.EMPTY])
def test_an_end_that_is_not_carried_out(state: TxnState) -> None:
    decisions = Decisions()
    _learn(decisions, replace(ONGOING, state=TxnState.PREPARE_COMMIT))
    with pytest.raises(Violation, match="PREPARE_COMMIT"):
        _learn(decisions, replace(ONGOING, state=state))


def test_an_epoch_that_goes_back() -> None:
    decisions = Decisions()
    _learn(decisions, ONGOING)
    with pytest.raises(Violation, match="goes back"):
        _learn(decisions, replace(ONGOING, producer_epoch=2))
