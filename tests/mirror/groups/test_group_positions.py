"""What is committed for a group in the other cluster."""

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import OffsetAndMetadata
from barnabas.errors import InvalidArgument
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.groups.group_positions import Routes, checkpoints_of, commits_of, has_members
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.stored_syncs import SEGMENTS, stored_sync, sync_of
from barnabas.mirror.groups.topic_records import TopicRecord
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.syncs import OffsetSync

HERE = TopicPartition("orders", 0)
THERE = TopicPartition("A.orders", 0)


def translations(*runs: tuple[int, int, int], target: TopicPartition = THERE) -> Translations:
    made = Translations()
    made.add(OffsetSync(HERE, target, *run) for run in runs)
    return made


def test_offsets_are_translated_with_their_texts() -> None:
    routes = Routes(translations((0, 0, 10), (12, 11, 10)))
    committed = {HERE: OffsetAndMetadata(15, "note"), TopicPartition("other", 0): (3, "")}
    assert checkpoints_of("g", committed, routes) == [CheckpointRecord("g", THERE, 15, 14, "note")]


def test_a_topic_of_both_flows_goes_on_at_the_first_record_that_was_not_read() -> None:
    forward = translations((0, 0, 10), (15, 30, 5), target=HERE)
    backward = translations((11, 10, 5), target=HERE)  # five records of the other side, from 10 on
    committed = {HERE: OffsetAndMetadata(12, "")}
    (found,) = checkpoints_of("g", committed, Routes(forward, backward))
    assert found.downstream_offset == 10, "all of the first run were read"
    committed = {HERE: OffsetAndMetadata(15, "")}
    assert checkpoints_of("g", committed, Routes(forward))[0].downstream_offset == 30
    (found,) = checkpoints_of("g", committed, Routes(forward, backward))
    assert found.downstream_offset == 16, "others may have come there behind the five"


def test_nothing_moves_backwards() -> None:
    found = [CheckpointRecord("g", THERE, 15, 14), CheckpointRecord("g", HERE, 1, 1)]
    assert commits_of(found, {}) == {THERE: 14, HERE: 1}
    assert commits_of(found, {THERE: 14, HERE: 2}) == {}
    assert commits_of(found, {THERE: 13, HERE: 2}) == {THERE: 14}
    assert commits_of(found, {THERE: 14, HERE: 2}, refresh=True) == {THERE: 14}


def test_groups_with_members_are_told_from_others() -> None:
    assert [has_members(each) for each in ("Stable", "Assigning", "Empty", "Dead", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_groups_are_included_and_excluded_by_whole_names() -> None:
    settings = GroupSettings(include=("bill.*", "shop"), exclude=("billing-test",))
    names = ("billing", "billing-test", "shop", "shopping", "barnabas-mirror.A->B")
    assert [each for each in names if settings.includes(each)] == ["billing", "shop"]
    assert not GroupSettings().includes("barnabas-mirror.A->B.stop")
    assert not GroupSettings().includes("console-consumer-1")
    with pytest.raises(InvalidArgument, match=r"groups '\['"):
        GroupSettings(include=("[",))
    with pytest.raises(InvalidArgument, match="above 0"):
        GroupSettings(interval_s=0)


def test_syncs_are_stored_for_mirror_maker_and_for_the_next_driver() -> None:
    translation = Translation()
    for number in range(200):
        translation.add(number * 10, number * 11, 10)
    record, headers = sync_of(HERE, translation, 2005)
    assert (record.upstream_offset, record.downstream_offset) == (1999, 2198)
    assert len(dict(headers)[SEGMENTS]) < 1000
    stored = stored_sync(TopicRecord(record.key, record.value, dict(headers)))
    assert stored is not None
    assert (stored.partition, stored.source_end) == (HERE, 2005)
    assert Translation(stored.segments).translate(1995) == 2194
    assert stored_sync(TopicRecord(record.key, record.value, {})) is None
