"""Which `min.insync.replicas` counts for an acknowledgement while it changes."""

from barnabas.metadata.image import MetadataImage
from barnabas.sim.checks.min_insync import MIN_ISR, MinInsync
from barnabas.wire.messages.metadata_records import ConfigRecord, TopicRecord

_TOPIC_CONFIG = 2
_A_WHILE_US = 10_000_000


def _image(value: str) -> MetadataImage:
    image = MetadataImage()
    image.replay(TopicRecord("t", bytes(16)))
    image.replay(ConfigRecord(_TOPIC_CONFIG, "t", MIN_ISR, value))
    return image


def _of(value: int) -> tuple[dict[str, int], MinInsync]:
    values = {"t": value}
    min_insync = MinInsync(values)
    min_insync.topics.add("t")
    return values, min_insync


def test_a_lower_value_counts_at_once() -> None:
    values, min_insync = _of(2)
    min_insync.learn(_image("1"))
    assert values == {"t": 1}


def test_a_higher_value_counts_when_all_nodes_have_had_it_for_a_while() -> None:
    values, min_insync = _of(1)
    min_insync.learn(_image("2"))
    min_insync.acknowledged("t", _A_WHILE_US, [_image("2"), _image("1")])
    min_insync.acknowledged("t", 2 * _A_WHILE_US, [_image("2"), _image("2")])
    assert values == {"t": 1}
    min_insync.acknowledged("t", 3 * _A_WHILE_US, [_image("2"), _image("2")])
    assert values == {"t": 2}


def test_a_node_that_has_the_lower_value_again_begins_the_wait_again() -> None:
    values, min_insync = _of(1)
    min_insync.acknowledged("t", 0, [_image("2")])
    min_insync.acknowledged("t", _A_WHILE_US, [_image("1")])
    min_insync.acknowledged("t", 2 * _A_WHILE_US, [_image("2")])
    assert values == {"t": 1}


def test_topics_that_do_not_change_keep_theirs() -> None:
    values, min_insync = _of(2)
    min_insync.acknowledged("u", 0, [])
    assert values == {"t": 2}
