"""What is persistent changes by replay only; the shell of these tests sees it if it does not."""

import pytest

from barnabas.transactions.transaction import Transaction
from tests.sim.replay_variants import change_while_deciding
from tests.transactions.shell import ID, T0, Shell


def test_a_decision_changes_nothing_that_is_persistent() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    shell.persists_at_once = False
    before = shell.shard.image.get(ID)
    shell.add(identity, T0)
    assert shell.shard.image.get(ID) is before
    shell.persist_next()
    assert shell.shard.image.get(ID) == shell.images[-1]


def test_a_change_while_deciding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transaction, "propose", change_while_deciding)
    with pytest.raises(AssertionError, match="a decision has changed what is persistent"):
        Shell().init()
