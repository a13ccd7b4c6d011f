"""What later leaders must have of what was committed."""

from barnabas.sim.checks.committed_log import Batch, CommittedLog


def test_what_a_deposed_leader_commits_late_is_demanded_of_later_leaders_only() -> None:
    committed = CommittedLog()
    for offset, epoch in enumerate((1, 2, 1)):
        committed.add(Batch(offset, offset + 1, 1, 0), epoch)
    assert [committed.end_before(epoch) for epoch in (1, 2, 3)] == [0, 1, 3]
