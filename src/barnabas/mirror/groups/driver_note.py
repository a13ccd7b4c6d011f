"""What goes wrong for a driver, kept in the target so that `mirror status` can tell it elsewhere.

It is the text of a committed offset, as the stop request is its number; the offset is the time in
milliseconds. Committed offsets expire, so a problem that lasts is written again.
"""

from collections.abc import Iterable
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
    """What a driver has noted last."""

    timestamp_ms: int
    problems: list[str]


class DriverNote:
    """The note of one flow."""

    def __init__(self, flow: Flow, target: ClusterClient) -> None:
        self._target = target
        self._group = f"{flow.group_id}.driver"
        self._place = TopicPartition(syncs_topic_of(flow), 0)
        self._written: str | None = None  # an earlier driver may have left one
        self._written_at = 0.0
        self._next_at = 0.0
        self.problem = ""
        """Why the target has no note; empty if it has one, or has been asked for none."""

    async def write(self, problems: Iterable[str]) -> None:
        """Keep what goes wrong now, if it was something else before.

        A target that refuses it does not stop anything else. Raises what another attempt may
        change.
        """
        if monotonic() < self._next_at:
            return
        lines = (" ".join(each.split()) for each in problems)
        text = "\n".join(lines)[:MOST_CHARACTERS]
        is_old = bool(text) and monotonic() - self._written_at > AGAIN_S
        if text == self._written and not is_old:
            return
        place = self._place
        now_ms = round(time() * 1000)
        try:
            await commit_offsets(self._target, self._group, {place: now_ms}, metadata={place: text})
        except BarnabasError as error:
            if error.retriable:
                raise
            self._next_at = monotonic() + RETRY_S
            self.problem = f"`mirror status` does not show warnings of this driver: {error}"
        else:
            self._written, self._written_at = text, monotonic()
            self.problem = ""

    async def read(self) -> StoredNote | None:
        """The last note; None if there never was one."""
        found = await fetch_offsets_and_metadata(self._target, self._group, [self._place])
        if self._place not in found:
            return None
        offset, text = found[self._place]
        return StoredNote(offset, text.splitlines())
