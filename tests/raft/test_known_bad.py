"""A simulator that finds nothing proves nothing: with a rule broken, it must find a violation.

Being stuck does not count, only a promise that was not kept: two leaders in an epoch, logs that
fork, committed entries that are lost or differ, a read of what is out of date.
"""

from unittest.mock import patch

import pytest

from barnabas.raft import Batch, BrokenInvariant, Envelope, Proposal, deadlines
from barnabas.raft.election import begin_election
from barnabas.raft.messages import BeginQuorumEpochResponse
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
    "read before the own epoch is committed": "reads",
}
MOST_SEEDS = 250


def test_every_variant_is_tried() -> None:
    assert EMPHASES.keys() | SCRIPTS.keys() == VARIANTS.keys()


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
    """No promise is broken, but all replicas are disturbed: the reason for pre-votes."""
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    epoch = cluster.raft(leader).epoch
    with patch.object(deadlines, "begin_pre_vote", begin_election):
        cluster.cut(cluster.others(leader)[0])
        cluster.run(1_000)
        cluster.heal()
        cluster.elect(beyond_epoch=epoch + 2)


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


def _repeat_the_answers_of_an_earlier_round() -> ErrorCode:
    """A leader is cut off; while it reads, it hears again what voters said of it before."""
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    answers: list[Envelope] = []

    def listen(envelope: Envelope) -> None:
        if isinstance(envelope.message, BeginQuorumEpochResponse):
            answers.append(envelope)
        send(envelope)

    send, cluster.send = cluster.send, listen  # type: ignore[method-assign]
    cluster.read()
    cluster.run(3)
    assert (len(answers), cluster.checker.reads) == (2, 1)
    cluster.cut(leader)
    for other in cluster.others(leader):
        cluster.call(other, "disconnected", leader.node_id)
    successor = cluster.elect(beyond_epoch=cluster.raft(leader).epoch)
    cluster.call(successor, "propose", Batch(b"later"))
    cluster.run(10)
    assert cluster.raft(leader).is_leader, "it does not know yet"
    cluster.call(leader, "read", cluster.checker.read_begins())
    for answer in answers:
        cluster._deliver(answer)
    return ErrorCode.NONE if cluster.checker.reads > 1 else ErrorCode.REQUEST_TIMED_OUT


SCRIPTS = {
    "change voters before the own epoch is committed": _change_voters_on_both_sides,
    "read on answers to earlier questions": _repeat_the_answers_of_an_earlier_round,
}
"""What chance seldom brings about: each returns that what was asked for has to wait."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_shows(name: str) -> None:
    assert SCRIPTS[name]() is ErrorCode.REQUEST_TIMED_OUT
    with broken(name), pytest.raises(Violation):
        SCRIPTS[name]()
