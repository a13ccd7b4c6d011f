"""Typical lives of a group, from first to last word."""

from tests.groups.shell import SESSION_MS, Protocols, subscription
from tests.groups.stage import Stage


def test_two_members_come_and_go() -> None:
    stage = Stage()
    a, b = stage.actor("a"), stage.actor("b")
    a.join()
    stage.wait(1_000)
    b.join()
    stage.wait(1_000)
    a.heartbeat()
    b.leave()
    a.heartbeat()
    a.leave()
    stage.check(
        """
        0 a: join
        0 a: <- MEMBER_ID_REQUIRED
        0 a: join
        100 a: <- generation 1, led by a; sync
        100 a: <- 1/1 of generation 1
        1000 b: join
        1000 b: <- MEMBER_ID_REQUIRED
        1000 b: join
        2000 a: heartbeat -> REBALANCE_IN_PROGRESS
        2000 a: join
        2000 a: <- generation 2, led by a; sync
        2000 a: <- 1/2 of generation 2
        2000 b: <- generation 2, led by a; sync
        2000 b: <- 1/2 of generation 2
        2000 b: leave -> NONE
        2000 a: heartbeat -> REBALANCE_IN_PROGRESS
        2000 a: join
        2000 a: <- generation 3, led by a; sync
        2000 a: <- 1/1 of generation 3
        2000 a: leave -> NONE
        """
    )
    assert stage.shell.state() == "Empty"


def test_a_member_dies_and_comes_back() -> None:
    stage = Stage()
    a, b = stage.actor("a"), stage.actor("b")
    a.join()
    b.join()
    stage.wait(1_000)
    for _ in range(2):
        stage.wait(SESSION_MS // 2)
        a.heartbeat()
    b.commit(7)
    b.heartbeat()
    stage.wait(1_000)
    a.heartbeat()
    stage.check(
        """
        0 a: join
        0 a: <- MEMBER_ID_REQUIRED
        0 a: join
        0 b: join
        0 b: <- MEMBER_ID_REQUIRED
        0 b: join
        200 a: <- generation 1, led by a; sync
        200 a: <- 1/2 of generation 1
        200 b: <- generation 1, led by a; sync
        200 b: <- 1/2 of generation 1
        6000 a: heartbeat -> NONE
        11000 a: heartbeat -> REBALANCE_IN_PROGRESS
        11000 a: join
        11000 a: <- generation 2, led by a; sync
        11000 a: <- 1/1 of generation 2
        11000 b: commit 7 -> UNKNOWN_MEMBER_ID
        11000 b: heartbeat -> UNKNOWN_MEMBER_ID
        11000 b: join
        11000 b: <- MEMBER_ID_REQUIRED
        11000 b: join
        12000 a: heartbeat -> REBALANCE_IN_PROGRESS
        12000 a: join
        12000 a: <- generation 3, led by a; sync
        12000 a: <- 1/2 of generation 3
        12000 b: <- generation 3, led by a; sync
        12000 b: <- 1/2 of generation 3
        """
    )


def test_a_static_member_restarts() -> None:
    stage = Stage()
    a, b = stage.actor("a", instance="one"), stage.actor("b", instance="two")
    a.join()
    b.join()
    stage.wait(1_000)
    reborn = stage.actor("A", instance="one")
    reborn.join()
    b.heartbeat()
    a.heartbeat()
    a.commit(1)
    reborn.commit(2)
    stage.check(
        """
        0 a: join
        0 b: join
        200 a: <- generation 1, led by a; sync
        200 a: <- 1/2 of generation 1
        200 b: <- generation 1, led by a; sync
        200 b: <- 1/2 of generation 1
        1000 A: join
        1000 A: <- generation 1, led by A, skip assignment; sync
        1000 A: <- 1/2 of generation 1
        1000 b: heartbeat -> NONE
        1000 a: heartbeat -> FENCED_INSTANCE_ID
        1000 a: commit 1 -> FENCED_INSTANCE_ID
        1000 A: commit 2 -> NONE
        """
    )


def test_generations_are_fenced() -> None:
    stage = Stage()
    a, b = stage.actor("a", version=3), stage.actor("b", version=3)
    a.join()
    stage.wait(200)
    b.join()
    a.commit(1)
    a.heartbeat()
    b.commit(2)
    a.generation_id = 1
    a.commit(3)
    a.heartbeat()
    stage.check(
        """
        0 a: join
        100 a: <- generation 1, led by a; sync
        100 a: <- 1/1 of generation 1
        200 b: join
        200 a: commit 1 -> NONE
        200 a: heartbeat -> REBALANCE_IN_PROGRESS
        200 a: join
        200 a: <- generation 2, led by a; sync
        200 a: <- 1/2 of generation 2
        200 b: <- generation 2, led by a; sync
        200 b: <- 1/2 of generation 2
        200 b: commit 2 -> NONE
        200 a: commit 3 -> ILLEGAL_GENERATION
        200 a: heartbeat -> ILLEGAL_GENERATION
        200 a: join
        """
    )


def test_the_broker_restarts() -> None:
    stage = Stage()
    a, b, c = stage.actor("a"), stage.actor("b"), stage.actor("c")
    a.join()
    b.join()
    stage.wait(1_000)
    a.commit(5)
    c.join()
    stage.restart()
    a.heartbeat()
    b.heartbeat()
    a.commit(6)
    c.join()
    a.heartbeat()
    b.heartbeat()
    stage.check(
        """
        0 a: join
        0 a: <- MEMBER_ID_REQUIRED
        0 a: join
        0 b: join
        0 b: <- MEMBER_ID_REQUIRED
        0 b: join
        200 a: <- generation 1, led by a; sync
        200 a: <- 1/2 of generation 1
        200 b: <- generation 1, led by a; sync
        200 b: <- 1/2 of generation 1
        1000 a: commit 5 -> NONE
        1000 c: join
        1000 c: <- MEMBER_ID_REQUIRED
        1000 c: join
        1000 broker: restarted
        1000 a: heartbeat -> NONE
        1000 b: heartbeat -> NONE
        1000 a: commit 6 -> NONE
        1000 c: join
        1000 c: <- UNKNOWN_MEMBER_ID
        1000 c: join
        1000 c: <- MEMBER_ID_REQUIRED
        1000 c: join
        1000 a: heartbeat -> REBALANCE_IN_PROGRESS
        1000 a: join
        1000 b: heartbeat -> REBALANCE_IN_PROGRESS
        1000 b: join
        1000 a: <- generation 2, led by a; sync
        1000 a: <- 1/3 of generation 2
        1000 b: <- generation 2, led by a; sync
        1000 b: <- 1/3 of generation 2
        1000 c: <- generation 2, led by a; sync
        1000 c: <- 1/3 of generation 2
        """
    )


def test_cooperative_members_rebalance_twice() -> None:
    """Cooperative assignment is the ordinary protocol, run twice: first partitions are given up,
    then, because a member joins again with less in its hands, they are handed on."""

    def owning(*partitions: int) -> Protocols:
        owned = ",".join(map(str, partitions)).encode()
        return [("cooperative-sticky", subscription("t", owned=owned))]

    stage = Stage()
    a = stage.actor("a", protocols=owning())
    b = stage.actor("b", protocols=owning())
    a.join()
    stage.wait(1_000)
    a.protocols = owning(0, 1)
    b.join()
    a.heartbeat()
    a.protocols = owning(0)  # gave up 1, and says so
    a.join()
    b.heartbeat()
    b.protocols = owning(1)
    b.heartbeat()
    stage.check(
        """
        0 a: join
        0 a: <- MEMBER_ID_REQUIRED
        0 a: join
        100 a: <- generation 1, led by a; sync
        100 a: <- 1/1 of generation 1
        1000 b: join
        1000 b: <- MEMBER_ID_REQUIRED
        1000 b: join
        1000 a: heartbeat -> REBALANCE_IN_PROGRESS
        1000 a: join
        1000 a: <- generation 2, led by a; sync
        1000 a: <- 1/2 of generation 2
        1000 b: <- generation 2, led by a; sync
        1000 b: <- 1/2 of generation 2
        1000 a: join
        1000 b: heartbeat -> REBALANCE_IN_PROGRESS
        1000 b: join
        1000 a: <- generation 3, led by a; sync
        1000 a: <- 1/2 of generation 3
        1000 b: <- generation 3, led by a; sync
        1000 b: <- 1/2 of generation 3
        1000 b: heartbeat -> NONE
        """
    )
