"""Epochs of a share session, and the partitions in it."""

from barnabas.client.share.share_session import SharePartition, ShareSession
from tests.client.share.support import OTHER, PARTITION

NEW = SharePartition(b"n" * 16, "new", 0)


def test_fetches_and_acknowledgements_share_the_epochs() -> None:
    session = ShareSession()
    assert not session.is_open
    assert session.next_fetch([PARTITION, OTHER]) == (0, [PARTITION, OTHER], [])
    assert session.is_open
    assert session.next_acknowledge() == 1
    assert session.next_fetch([PARTITION, OTHER]) == (2, [], [])


def test_only_changes_are_sent() -> None:
    session = ShareSession()
    session.next_fetch([PARTITION, OTHER])
    assert session.next_fetch([OTHER, NEW]) == (1, [NEW], [PARTITION])
    assert session.next_fetch([OTHER, NEW]) == (2, [], [])


def test_a_lost_session_is_opened_again_with_all_partitions() -> None:
    session = ShareSession()
    session.next_fetch([PARTITION, OTHER])
    session.reset()
    assert not session.is_open
    assert session.next_fetch([OTHER]) == (0, [OTHER], [])


def test_after_the_last_epoch_comes_the_first() -> None:
    session = ShareSession()
    session.next_fetch([PARTITION])
    session._next_epoch = 2**31 - 1
    assert session.next_acknowledge() == 2**31 - 1
    assert session.next_acknowledge() == 1
