"""Subscriptions by regular expressions."""

import pytest

from barnabas.wire.errors import ErrorCode
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics


@pytest.fixture
def shell() -> ConsumerShell:
    return ConsumerShell(topics=FakeTopics(t1=1, t2=1, other=1))


def test_a_member_gets_the_topics_that_match(shell: ConsumerShell) -> None:
    answer = shell.join_group("a", topics=None, regex="t.*")
    assert (answer.member_epoch, shell.assigned(answer)) == (1, {})
    assert answer.heartbeat_interval_ms < 1_000
    assert shell.resolve()
    answer = shell.beaten(shell.beat("a", 1))
    assert shell.assigned(answer) == {"t1": [0], "t2": [0]}
    assert not shell.resolve()
    assert shell.described().members[0].subscribed_topic_regex == "t.*"
    assert shell.restart().described() == shell.described()


def test_together_with_names(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=["other"], regex="t1")
    shell.resolve()
    assert shell.assigned(shell.beaten(shell.beat("a", 1))) == {"other": [0], "t1": [0]}


def test_topics_that_the_user_may_not_describe_are_left_out(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.resolve(denied=["t2"])
    assert shell.assigned(shell.beaten(shell.beat("a", 1))) == {"t1": [0]}


def test_new_topics_are_found_after_a_while(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.resolve()
    shell.beat("a", 1)
    shell.topics.create("t3", 1)
    shell.advance(9_000)
    assert not shell.resolve()
    shell.advance(1_000)
    assert shell.resolve()
    assert "t3" in shell.assigned(shell.beaten(shell.beat("a", 2)))


def test_rights_are_looked_at_every_ten_minutes(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.resolve(denied=["t2"])
    shell.beat("a", 1)
    for _ in range(20):
        assert not shell.resolve()
        shell.advance(30_000)
        shell.beat("a", 2)
    assert shell.resolve()
    assert shell.assigned(shell.beaten(shell.beat("a", 2))) == {"t1": [0], "t2": [0]}


def test_another_pattern_takes_effect_at_once(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.resolve()
    shell.beat("a", 1)
    owned = {"t1": [0], "t2": [0]}
    answer = shell.beaten(shell.beat("a", 2, regex="other", owned=owned))
    assert shell.assigned(answer) == {}
    assert list(shell.consumer_group().pending.regexes) == []
    shell.beat("a", 2, owned={})
    shell.resolve()
    shell.advance(1_000)
    assert shell.assigned(shell.beaten(shell.beat("a", 2))) == {"other": [0]}


def test_an_invalid_pattern(shell: ConsumerShell) -> None:
    for regex in ("(", "a" * 1_025, r"(a)\1"):
        answer = shell.join_group("a", topics=None, regex=regex)
        assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert shell.log == []


def test_a_pattern_ends_with_its_last_member(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.join_group("b", topics=None, regex="t.*")
    shell.resolve()
    shell.beat("a", -1)
    assert list(shell.consumer_group().pending.regexes) == ["t.*"]
    shell.beat("b", -1)
    assert list(shell.consumer_group().pending.regexes) == []
    assert shell.is_in_step()


def test_a_lost_resolution_is_repeated(shell: ConsumerShell) -> None:
    shell.join_group("a", topics=None, regex="t.*")
    shell.persists_at_once = False
    shell.resolve()
    shell.fail_next()
    assert shell.resolve()
