"""Groups in the target: their offsets there, and what is special about those of mirrors.

The numbers that mirrors commit are no offsets of this cluster, so they stay as they are. What they
say of offsets here, in texts and in topics, is not true of the restored logs, and left out: without
it, groups that a mirror takes along repeat records; with it, they would pass over some.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from barnabas.backup.manifest import GroupData
from barnabas.backup.partition_restore import PartitionRestore
from barnabas.backup.restore_plan import RestorePlan
from barnabas.backup.restored_state import restore_group
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.coordination.mirror_groups import MIRROR_PREFIX, has_foreign_offsets
from barnabas.mirror.formats.internal_topics import checkpoints_topic
from barnabas.mirror.positions import text_without_recent
from barnabas.quantities import counted

_SYNCS = re.compile(r"mm2-offset-syncs([._-]+)(.+?)\1internal")


def offset_topics(topics: Collection[str]) -> set[str]:
    """Those whose records are offsets: a mirror fills them again."""
    found = set()
    for name in topics:
        if syncs := _SYNCS.fullmatch(name):
            found |= {name, checkpoints_topic(syncs[2], syncs[1])}
    return found.intersection(topics)


class RestoredGroups:
    """The groups of a restore; `prefix` is put in front of names."""

    def __init__(self, groups: Mapping[str, GroupData], plan: RestorePlan, prefix: str) -> None:
        self.problems: list[str] = []
        self._plan = plan
        self._prefix = prefix
        self._groups = dict(groups)
        for name in groups if prefix else ():
            if has_foreign_offsets(name):
                del self._groups[name]
                self.problems.append(
                    f"group {name} is not restored: it is of a mirror, which does not write to "
                    "topics with another name"
                )

    def leave(self, taken: Collection[str]) -> None:
        """Leave groups as they are that the target has already."""
        for name in [each for each in self._groups if self._prefix + each in taken]:
            del self._groups[name]
            self.problems.append(
                f"group {self._prefix + name} is in the target already, and left as it is"
            )

    def marks(self) -> dict[TopicPartition, list[int]]:
        """Source offsets that groups are at, and where partitions of mirrors ended."""
        marks: defaultdict[TopicPartition, list[int]] = defaultdict(list)
        for group_id, group in self._groups.items():
            for topic, offsets in group.offsets.items():
                for index, (offset, _) in offsets.items():
                    partition = TopicPartition(topic, index)
                    end = self._end(partition) if has_foreign_offsets(group_id) else offset
                    marks[partition].append(end)
        return marks

    async def restore(
        self,
        cluster: ClusterClient,
        restores: Mapping[TopicPartition, PartitionRestore],
        *,
        is_partial: bool,
    ) -> int:
        """Set offsets and settings, and return of how many groups.

        If only some topics are restored, groups without offsets in them are left out.
        """
        done = 0
        for group_id, group in self._groups.items():
            offsets, texts = {}, {}
            for topic, committed in group.offsets.items():
                for index, (offset, text) in committed.items():
                    here = TopicPartition(topic, index)
                    restored = restores.get(here)
                    if restored is None:
                        continue
                    if has_foreign_offsets(group_id):
                        if not self._is_position_known(group_id, here, restored):
                            continue
                        text = text_without_recent(text) if _is_position(group_id) else text
                    else:
                        offset = restored.translated[offset]
                    there = TopicPartition(self._prefix + topic, index)
                    offsets[there], texts[there] = offset, text
            if not offsets and (is_partial or group.offsets):
                continue
            name = self._prefix + group_id
            self.problems += await restore_group(cluster, name, group, offsets, texts)
            done += 1
        return done

    def _end(self, partition: TopicPartition) -> int:
        """Where the data ends that the position of a mirror belongs to."""
        topic = self._plan.point.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.partitions):
            return 0
        return topic.partitions[partition.partition].end

    def _is_position_known(
        self, group_id: str, partition: TopicPartition, restored: PartitionRestore
    ) -> bool:
        """Whether the position is not behind the data. Says so if it is not at its end either."""
        if not _is_position(group_id):
            return True
        flow, end = group_id.removeprefix(MIRROR_PREFIX), self._end(partition)
        if any(
            piece.max_timestamp_ms is not None
            and piece.file.max_timestamp_ms > piece.max_timestamp_ms
            and piece.start < end
            for piece in self._plan.partitions[partition].pieces
        ):
            self.problems.append(
                f"mirror {flow} copies {partition} again from the beginning: its position at that "
                "time is not known. Delete the topic before it runs, or restore a point with "
                "--point"
            )
            return False
        if more := restored.records - restored.translated[end]:
            self.problems.append(
                f"mirror {flow} copies the last {counted(more, 'record')} of {partition} again, "
                "because its position is that of the earlier backup; restore a point with --point "
                "if that must not be"
            )
        return True


def _is_position(group_id: str) -> bool:
    """Whether the group has positions, not a mirror's notes or stop requests."""
    return "." not in group_id.removeprefix(MIRROR_PREFIX)
