"""Transactions are counted once each, when their end is decided."""

import pytest

from barnabas.transactions.transaction_counts import TransactionCounts
from barnabas.wire.errors import ErrorCode
from tests.transactions.shell import BUMPED, CLASSIC, T0, T1, Shell


def counts_of(shell: Shell) -> TransactionCounts:
    return shell.shard._counts


@pytest.mark.parametrize("version", [CLASSIC, BUMPED])
@pytest.mark.parametrize("committed", [True, False])
def test_an_end_counts_once(committed: bool, version: int) -> None:
    shell = Shell()
    identity = shell.begin(T0, T1)
    counts = counts_of(shell)
    assert (counts.begun, counts.committed, counts.aborted) == (1, 0, 0)
    shell.end(identity, committed, version=version)
    assert (counts.begun, counts.committed, counts.aborted) == (1, committed, not committed)
    assert counts.durations.count == 1


def test_an_end_that_is_not_persisted_does_not_count() -> None:
    shell = Shell()
    identity = shell.begin()
    shell.persists_at_once = False
    token = shell.end(identity, True, version=CLASSIC)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    counts = counts_of(shell)
    assert (counts.committed, counts.durations.count) == (0, 0)
