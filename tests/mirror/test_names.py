"""Names of topics in the target, and loops."""

import pytest

from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.names import is_heartbeats, is_loop, remote_topic, upstream_topic

A = ClusterEnd("A", "a:9092")
B = ClusterEnd("B", "b:9092")


def test_prefixes_say_where_a_topic_comes_from() -> None:
    flow = Flow(A, B)
    assert remote_topic(flow, "orders") == "A.orders"
    assert upstream_topic(flow, "A.orders") == "orders"
    assert upstream_topic(flow, "orders") is None


def test_names_may_be_kept() -> None:
    flow = Flow(A, B, names=Names.IDENTITY)
    assert remote_topic(flow, "orders") == "orders"
    assert upstream_topic(flow, "orders") == "orders"


def test_heartbeats_have_a_prefix_in_any_case() -> None:
    flow = Flow(A, B, names=Names.IDENTITY)
    assert remote_topic(flow, "heartbeats") == "A.heartbeats"
    assert upstream_topic(flow, "A.heartbeats") == "heartbeats"


@pytest.mark.parametrize("names", list(Names))
def test_a_topic_of_a_user_does_not_have_heartbeats_because_of_its_name(names: Names) -> None:
    flow = Flow(A, B, names=names, clusters=("C",))
    for topic in ("heartbeats", "B.heartbeats", "C.heartbeats", "C.B.heartbeats"):
        assert is_heartbeats(flow, topic)
    for topic in ("devices.heartbeats", "C.devices.heartbeats", "A.orders", "myheartbeats"):
        assert not is_heartbeats(flow, topic)
    assert not is_loop(Flow(A, B, names=Names.IDENTITY), "B.myheartbeats")


@pytest.mark.parametrize("topic", ["B.orders", "C.B.orders", "B.C.orders"])
def test_what_has_passed_the_target_does_not_go_back(topic: str) -> None:
    assert is_loop(Flow(A, B), topic)


@pytest.mark.parametrize("topic", ["orders", "C.orders", "C.D.orders"])
def test_what_comes_from_elsewhere_goes_on(topic: str) -> None:
    assert not is_loop(Flow(A, B), topic)


def test_kept_names_do_not_tell_of_loops() -> None:
    assert not is_loop(Flow(A, B, names=Names.IDENTITY), "B.orders")
    assert is_loop(Flow(A, B, names=Names.IDENTITY), "B.heartbeats")


def test_a_flow_needs_two_names() -> None:
    with pytest.raises(InvalidArgument, match="two names"):
        Flow(A, A)


def test_a_wrong_pattern_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="topics"):
        Flow(A, B, topics=("(",))


def test_a_cluster_is_named_by_a_word() -> None:
    with pytest.raises(InvalidArgument, match="name a cluster"):
        ClusterEnd("a.b", "a:9092")
