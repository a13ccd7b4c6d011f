"""What a marker may say."""

import pytest

from barnabas.embedded.marker import ClusterOptions, MarkerError, Options, read_markers


def test_nothing_is_said() -> None:
    assert read_markers([]) == Options(ClusterOptions(1, False, ()), 1, None, (), ())


def test_the_closest_marker_has_the_last_word() -> None:
    of_test, of_module = {"nodes": 3}, {"nodes": 5, "partitions": 7}
    options = read_markers([of_test, of_module])
    assert (options.cluster.nodes, options.partitions) == (3, 7)


def test_equal_wishes_are_equal() -> None:
    first = read_markers([{"settings": {"a": 1, "b": 2}, "faults": "isolate"}])
    second = read_markers([{"settings": {"b": 2, "a": 1}, "network": True, "partitions": 9}])
    assert hash(first.cluster) == hash(second.cluster)
    assert first.cluster == second.cluster
    assert str(first.cluster) == "nodes=1,network,a=1,b=2"


@pytest.mark.parametrize(
    ("marker", "complaint"),
    [
        ({"node": 3}, "unknown option 'node'; use nodes, network"),
        ({"nodes": 0}, "nodes=0: expected a number"),
        ({"nodes": "3"}, "nodes='3': expected a number"),
        ({"faults": ["explode"]}, "unknown fault 'explode'; use kill, stop"),
        ({"settings": "a=1"}, "settings='a=1': expected a dict"),
        ({"configs": 1}, "configs=1: expected a dict"),
    ],
)
def test_what_can_not_be(marker: dict[str, object], complaint: str) -> None:
    with pytest.raises(MarkerError) as caught:
        read_markers([marker])
    assert str(caught.value).startswith(complaint)
