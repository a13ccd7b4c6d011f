"""What a node without a controller finds out about the others, and says."""

import asyncio
from pathlib import Path

from barnabas.broker.quorum.voter_probe import Answer, VoterProbe
from barnabas.raft import ReplicaKey
from tests.broker.quorum.member import Members
from tests.broker.quorum.test_quorum import run
from tests.support.wait import wait_until_async

KEYS = {node_id: ReplicaKey(node_id, b"%d" % node_id) for node_id in (1, 2, 3)}
NEW = {node_id: ReplicaKey(node_id, b"new") for node_id in (1, 2, 3)}
ADDRESSES = {2: "host:9093", 3: "host:9094"}


def member(key: ReplicaKey, knows: bool = True) -> Answer:
    return Answer(key, "C", KEYS.values() if knows else ())


def test_the_silent_are_waited_for() -> None:
    assert str(VoterProbe(member(KEYS[1]), ADDRESSES, {})) == (
        "waiting for node 2 (host:9093), node 3 (host:9094)"
    )
    probe = VoterProbe(member(KEYS[1]), ADDRESSES, {2: member(KEYS[2])})
    assert str(probe) == "waiting for node 3 (host:9094)"
    assert not probe.is_in_another_cluster


def test_all_are_there() -> None:
    answers = {n: member(KEYS[n]) for n in (2, 3)}
    assert str(VoterProbe(member(KEYS[1]), ADDRESSES, answers)).startswith("all voters answer")
    assert not VoterProbe(member(KEYS[1]), {}, {}).is_in_another_cluster


def test_a_majority_without_its_disks() -> None:
    said = (
        "3 of 3 voters answer, but nodes 2 and 3 came back with empty directories: "
        "restore what they had, or rebuild the cluster from one that is left: "
        "barnabas cluster recover --data DIR"
    )
    left = VoterProbe(
        member(KEYS[1]),
        ADDRESSES,
        {2: member(NEW[2], knows=False), 3: Answer(NEW[3], "")},
    )
    assert str(left) == said
    seen_by_2 = VoterProbe(
        member(NEW[2], knows=False),
        {1: "host:9092", 3: "host:9094"},
        {1: member(KEYS[1]), 3: member(NEW[3], knows=False)},
    )
    assert str(seen_by_2) == said, "it learns from others who votes"


def test_a_minority_without_its_disk_is_in_nobodys_way() -> None:
    answers = {2: member(KEYS[2]), 3: member(NEW[3], knows=False)}
    assert str(VoterProbe(member(KEYS[1]), ADDRESSES, answers)).startswith("all voters answer")


def test_strangers() -> None:
    one = VoterProbe(member(KEYS[1]), ADDRESSES, {2: Answer(NEW[2], "D", list(NEW.values()))})
    assert str(one) == (
        "node 2 (host:9093) belongs to another cluster than this node's data: "
        "check --data and --voters; waiting for node 3 (host:9094)"
    )
    assert not one.is_in_another_cluster, "the other may know better"
    both = VoterProbe(member(KEYS[1]), ADDRESSES, {n: Answer(NEW[n], "D") for n in (2, 3)})
    assert both.is_in_another_cluster
    assert "node 2 (host:9093), node 3 (host:9094) belong to another cluster" in str(both)


def test_addresses_that_were_mixed_up() -> None:
    answers = {2: member(KEYS[3]), 3: member(KEYS[2])}
    said = str(VoterProbe(member(KEYS[1]), ADDRESSES, answers))
    assert said.startswith("host:9093 is node 3, not node 2: check --voters; host:9094 is node 2")


def test_real_nodes_answer_for_themselves(tmp_path: Path) -> None:
    async def scenario(members: Members) -> None:
        await members.start()
        leader = await members.leader()
        follower = members.others(leader)[0]
        probe = await follower.quorum.probe_voters()
        assert {n: answer.key for n, answer in probe.answers.items()} == {
            other.node_id: other.quorum.me for other in members.others(follower)
        }
        assert str(probe).startswith("all voters answer")
        await members.stop()
        for node_id in (2, 3):
            members[node_id].wipe()
        await members.start()
        await wait_until_async(lambda: all(member.quorum.shell for member in members.all))
        for member in members.all:
            said = str(await member.quorum.probe_voters())
            assert said.startswith("3 of 3 voters answer, but nodes 2 and 3 came back with empty")
        await members[3].stop()
        await asyncio.sleep(0.05)
        said = str(await members[1].quorum.probe_voters())
        assert said.endswith(f"waiting for node 3 (127.0.0.1:{members[3].port})")
        assert said.startswith("2 of 3 voters answer, but node 2 came back with an empty")

    run(Members(tmp_path), scenario)
