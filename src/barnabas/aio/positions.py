"""Where a consumer reads, and what it commits."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from barnabas.aio.waiting import Client
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.metrics.client_metrics import ClientMetrics
from barnabas.client.metrics.consumer_metrics import consumer_metrics
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.client.offsets.offset_spec import timestamp_of
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message


class PositionsAndOffsets(Client):
    """Positions and committed offsets of a consumer."""

    def __init__(self, core: ConsumerCore) -> None:
        self._core = core
        self._delivery_queue = core.delivery_queue
        super().__init__(core)

    # -- positions -----------------------------------------------------------------------------

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that are being read."""
        return self._core.assignment

    async def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset; for consumers without topics."""
        await self._wait(self._core.assign(offsets))

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next message of a partition."""
        return self._core.position(partition)

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue reading a partition at an offset."""
        await self._wait(self._core.seek({partition: offset}))

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the oldest message of these partitions, or of all if none are given."""
        await self._wait(self._core.seek_to_time(EARLIEST, partitions))

    async def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Skip all messages that exist now."""
        await self._wait(self._core.seek_to_time(LATEST, partitions))

    async def seek_to_time(self, when: datetime, *partitions: TopicPartition) -> None:
        """Continue at the first message at or after a time, or at the end if there is none."""
        await self._wait(self._core.seek_to_time(timestamp_of(when, "when"), partitions))

    async def pause(self, *partitions: TopicPartition) -> None:
        """Return no messages of these partitions, or of all if none are given, until `resume`."""
        await self._wait(self._core.pause(partitions))

    async def resume(self, *partitions: TopicPartition) -> None:
        """Continue with paused partitions."""
        await self._wait(self._core.resume(partitions))

    async def lag(self) -> dict[TopicPartition, int]:
        """The number of offsets between the position and the end of each partition."""
        return await self._wait(self._core.lag())

    def metrics(self) -> ClientMetrics:
        """Counts, times and lag of this consumer, named as in Kafka's client metrics.

            consumer.metrics()["records-lag-max"]
            consumer.metrics().partitions[TopicPartition("orders", 0)]["records-lag"]
            consumer.metrics().prometheus()  # text for a /metrics page

        Does not block or ask a broker: the lag is as of the last fetch. Can be called from any
        thread.
        """
        return consumer_metrics(self._core)

    # -- committing ----------------------------------------------------------------------------

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit all done messages (with `commit="manual"`, all returned ones), or these offsets.

        A committed offset is the offset of the next message to read.
        """
        await self._wait(self._core.commit(offsets))

    async def committed(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """The committed offsets of the group; partitions without one are omitted."""
        return await self._wait(self._core.committed(partitions))

    def done(self, message: Message) -> None:
        """Mark a message as done, with `commit="done"`. Does not block; call it from any thread."""
        self._core.done(message)

    def done_up_to(self, message: Message) -> None:
        """Mark a message and all before it in its partition as done, with `commit="done"`."""
        self._core.done_up_to(message)

    @property
    def membership(self) -> GroupMembership:
        """The member of the group that this consumer is now: its id and its generation or epoch.

        Both change; before it has joined, and without a group, the id is empty. Does not block.
        """
        return self._core.membership

    @property
    def _offsets_source(self) -> ConsumerCore:
        """What a producer's transaction commits the offsets of."""
        if self._delivery_queue.mode is not CommitMode.MANUAL:
            raise InvalidArgument(
                'a transaction commits for its consumer: make that with commit="manual"'
            )
        return self._core
