"""Offsets are translated as a list of all copied records would say, or a little too far back."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.record_format import CorruptRecord
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.segment_format import decode_segments, encode_segments
from barnabas.mirror.offsets.translation import MAX_ANCHORS, Translation
from tests.mirror.offsets.copied_log import CopiedLog

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
def test_everything_reported_is_translated_without_repeats(seed: int) -> None:
    log, translation = CopiedLog(Random(seed)), Translation()
    for _ in range(12):
        log.copy(translation)
    for upstream in range(log.source_end + 1):
        translated = translation.translate(upstream)
        assert translated is not None
        assert translated <= log.goes_on_at(upstream)
        assert log.repeats(upstream, translated) == 0


@given(SEEDS, st.integers(2, 12), st.sampled_from([0.0, 0.3, 0.9]))
def test_no_record_is_passed_whatever_is_forgotten(seed: int, limit: int, lost: float) -> None:
    random = Random(seed)
    log, translation = CopiedLog(random, lost), Translation(max_segments=limit)
    for _ in range(12):
        end = log.target_end
        log.copy(translation)
        if random.random() < 0.3:
            translation.anchor(log.position, end if random.random() < 0.5 else log.target_end)
        if random.random() < 0.1:  # the driver starts again, from what was stored
            translation = Translation(
                decode_segments(encode_segments(translation.thinned(limit))), limit
            )
    assert len(translation.segments) <= limit
    previous = -1
    for upstream in range(log.source_end + 2):
        translated = translation.translate(upstream)
        if translated is not None:
            assert previous <= translated <= log.goes_on_at(upstream)
            previous = translated
    for downstream in range(log.target_end + 2):
        back = translation.invert(downstream)
        begun = translation.segments and downstream >= translation.segments[0].downstream
        assert not begun or (back is not None and back <= log.goes_back_to(downstream))


def test_a_group_at_the_end_repeats_nothing_even_without_reports() -> None:
    log, translation = CopiedLog(Random(1), lost_reports=1.0), Translation()
    for _ in range(500):
        log.copy(translation)
        translation.anchor(log.position, log.target_end)
        assert translation.translate(log.source_end) == log.target_end
    assert len(translation._anchors) <= MAX_ANCHORS


def test_old_offsets_are_translated_with_less_precision_as_memory_is_bounded() -> None:
    """Each transaction adds a marker in the target, so nothing merges without a loss."""
    translation = Translation(max_segments=256)
    upstream = downstream = 0
    copies = {}
    for _ in range(5000):
        translation.add(upstream, downstream, 100)
        copies[upstream] = downstream
        upstream, downstream = upstream + 100, downstream + 101
    assert len(translation.segments) <= 256
    errors = [copies[each] - (translation.translate(each) or 0) for each in sorted(copies)]
    assert min(errors) >= 0
    assert errors[-128:] == [0] * 128
    transactions_since = range(len(errors), 0, -1)
    assert all(error <= age / 8 for error, age in zip(errors, transactions_since, strict=True)), (
        "a group that is a thousand transactions behind repeats at most 125 records"
    )


def test_a_topic_that_was_made_again_starts_over() -> None:
    translation = Translation()
    translation.add(1000, 900, 10)
    translation.anchor(1010, 910)
    translation.add(0, 911, 5)
    assert translation.segments == [Segment(0, 0, 911, 5)]
    assert translation.translate(1010) == 916
    translation.anchor(5, 917)
    translation.anchor(0, 917)
    assert translation.translate(3) == 917
    assert translation.invert(917) is None


def test_before_everything_known_nothing_is_said() -> None:
    translation = Translation()
    assert translation.translate(0) is None
    assert translation.invert(0) is None
    translation.add(10, 20, 5)
    assert translation.translate(9) is None
    assert translation.translate(12) == 22
    assert translation.invert(19) == 10
    assert translation.invert(22) == 12


@pytest.mark.parametrize("data", [b"\x80", b"\2\2", b"\xff" * 50])
def test_malformed_segments_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_segments(data)


def test_what_came_from_the_target_is_not_read_again_by_a_group_that_goes_back() -> None:
    translation = Translation()
    translation.add(0, 0, 60)
    translation.copied(60, 61)
    translation.copied(244, 300)  # nothing was copied from 60 on: it had come from there
    assert translation.invert(300) == 244
    assert translation.invert(299) == 60
    translation.copied(10, 400)  # the topic was made again
    assert translation.invert(300) == 60
