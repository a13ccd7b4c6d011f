"""What goes wrong for processes of a flow, kept in the target so that `mirror status` can show it.

It is the text of a committed offset, as the stop request is its number; the offset is the time in
milliseconds. Each process has the first of its partitions for that, and the driver of the flow has
the topic of syncs. Committed offsets expire, so a problem that lasts is written again.
"""

from collections.abc import Iterable, Sequence
from time import monotonic, time
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets, fetch_offsets_and_metadata
from barnabas.errors import BarnabasError
from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.heartbeats import RETRY_S
from barnabas.mirror.names import syncs_topic_of

AGAIN_S = 600.0
MOST_CHARACTERS = 1_000
"""Brokers take texts of 4,096 bytes by default."""


class StoredNote(NamedTuple):
    """What processes have noted last."""

    timestamp_ms: int
    problems: list[str]


class DriverNote:
    """The note of one flow."""

    def __init__(self, flow: Flow, target: ClusterClient) -> None:
        self._target = target
        self._group = f"{flow.group_id}.driver"
        self._driver = TopicPartition(syncs_topic_of(flow), 0)
        self._place: TopicPartition | None = None
        self._written: str | None = None  # an earlier process may have left one
        self._written_at = 0.0
        self._next_at = 0.0
        self.problem = ""
        """Why the target has no note; empty if it has one, or has been asked for none."""

    async def write(
        self, problems: Iterable[str], places: Sequence[TopicPartition] | None = None
    ) -> None:
        """Keep what goes wrong now, if it was something else before.

        `places` are the partitions that no other process has: the note is at the first, and the
        others have none. Without it, this is the driver.

        A target that refuses it does not stop anything else. Raises what another attempt may
        change.
        """
        if places is None:
            places = [self._driver]
        if not places or monotonic() < self._next_at:
            return
        place, *others = places
        lines = (" ".join(each.split()) for each in problems)
        text = "\n".join(lines)[:MOST_CHARACTERS]
        is_old = bool(text) and monotonic() - self._written_at > AGAIN_S
        if text == self._written and place == self._place and not is_old:
            return
        now_ms = round(time() * 1000)
        try:
            texts = {place: text, **dict.fromkeys(await self._noted(others), "")}
            offsets = dict.fromkeys(texts, now_ms)
            await commit_offsets(self._target, self._group, offsets, metadata=texts)
        except BarnabasError as error:
            if error.retriable:
                raise
            self._next_at = monotonic() + RETRY_S
            self.problem = f"`mirror status` does not show warnings of this driver: {error}"
        else:
            self._place, self._written, self._written_at = place, text, monotonic()
            self.problem = ""

    async def read(self) -> StoredNote | None:
        """The last notes, that of the driver first; None if there never was one.

        The time is that of the driver's, unless only others have one.
        """
        found = await fetch_offsets_and_metadata(self._target, self._group)
        if not found:
            return None
        order = sorted(found, key=lambda each: (each != self._driver, each))
        lines = [line for each in order for line in found[each].metadata.splitlines()]
        return StoredNote(found[order[0]].offset, list(dict.fromkeys(lines)))

    async def _noted(self, places: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Those where a process has left something that is over."""
        if not places:
            return []
        found = await fetch_offsets_and_metadata(self._target, self._group)
        return [each for each in places if each in found and found[each].metadata]
