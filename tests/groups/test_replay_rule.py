"""What is persistent changes by replay only; the shell of these tests sees it if it does not."""

import pytest

from barnabas.groups.offsets import commit
from barnabas.wire.errors import ErrorCode
from tests.groups.shell import Shell
from tests.sim.replay_variants import commit_while_deciding


def test_a_decision_changes_nothing_that_is_persistent() -> None:
    shell = Shell()
    shell.persists_at_once = False
    token = shell.commit(5)
    assert shell.committed() == -1
    shell.persist_next()
    assert shell.error(token) == ErrorCode.NONE
    assert shell.committed() == 5


def test_a_commit_while_deciding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "propose_offset", commit_while_deciding)
    with pytest.raises(AssertionError, match="a decision has changed what is persistent"):
        Shell().commit(5)
