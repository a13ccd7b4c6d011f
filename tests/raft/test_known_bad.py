"""A simulator that finds nothing proves nothing: with a rule broken, it must find a violation.

Being stuck does not count, only a promise that was not kept: two leaders in an epoch, logs that
fork, committed entries that are lost or differ, a read of what is out of date.
"""

from unittest.mock import patch

import pytest

from barnabas.raft import BrokenInvariant, Proposal, deadlines
from barnabas.raft.election import begin_election
from barnabas.wire.errors import ErrorCode
from tests.raft.checks import Stuck, Violation
from tests.raft.cluster import Cluster
from tests.raft.simulation import run_seed
from tests.raft.variants import VARIANTS, broken

EMPHASES = {
    "vote before it is durable": "elections",
    "forget the vote": "elections",
    "forget the epoch": "anything",
    "vote for an incomplete log": "commits",
    "commit an entry of an earlier epoch by counting": "commits",
    "acknowledge before it is durable": "disks",
    "lead on entries that are not durable": "disks",
    "take a log of the same length for the same log": "anything",
    "truncate to the high watermark": "commits",
    "change voters twice at once": "voters",
    "take a wiped voter for itself": "wipes",
    "read without asking a majority": "reads",
    "read on answers to earlier questions": "reads",
    "read before the own epoch is committed": "reads",
}
SCRIPTED = {"change voters before the own epoch is committed"}
MOST_SEEDS = 250


def test_every_variant_is_tried() -> None:
    assert EMPHASES.keys() | SCRIPTED == VARIANTS.keys()


@pytest.mark.parametrize("name", EMPHASES)
def test_the_simulator_finds(name: str) -> None:
    with broken(name):
        for seed in range(MOST_SEEDS):
            try:
                run_seed(seed, EMPHASES[name])
            except (Violation, BrokenInvariant):
                return
            except Stuck:
                continue
    pytest.fail(f"none of {MOST_SEEDS} seeds shows that it is wrong to {name}")


def test_without_a_pre_vote_a_node_that_returns_unseats_the_leader() -> None:
    """No promise is broken, but everybody is disturbed: the reason for asking first."""
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    epoch = cluster.raft(leader).epoch
    with patch.object(deadlines, "begin_pre_vote", begin_election):
        cluster.cut(cluster.others(leader)[0])
        cluster.run(1_000)
        cluster.heal()
        cluster.elect(beyond_epoch=epoch + 2)


def test_two_leaders_change_voters_without_knowing_of_each_other() -> None:
    assert _change_voters_on_both_sides() is ErrorCode.REQUEST_TIMED_OUT


def test_two_leaders_change_voters_before_the_own_epoch_is_committed() -> None:
    (name,) = SCRIPTED
    with broken(name), pytest.raises(Violation, match="lacks committed entries"):
        _change_voters_on_both_sides()


def _change_voters_on_both_sides() -> ErrorCode:
    """Of four voters, one removes another while it is cut off; then the next leader removes it.

    Majorities of both new sets need not meet: the first leader with one, the second with another.
    Returns how the second change was answered, once all are in touch again.
    """
    cluster = Cluster(nodes=4)
    first = cluster.elect()
    cluster.write()
    cluster.cut(first)
    epoch = cluster.raft(first).epoch
    removed = cluster.others(first)[0]
    cluster.call(first, "remove_voter", removed.key)
    second = cluster.elect(beyond_epoch=epoch)
    helper = next(r for r in cluster.others(first, second) if r is not removed)
    cluster.cut(first, helper)
    answer = cluster.call(second, "remove_voter", first.key)
    cluster.run(1_500)
    cluster.heal()
    cluster.run(1_000)
    cluster.write()
    assert isinstance(answer, Proposal)
    return answer.error_code
