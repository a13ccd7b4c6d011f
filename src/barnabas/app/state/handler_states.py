"""The state of all partitions that a handler has, as its runner uses it.

    admit       which records may be handled: those of partitions whose state is current
    attempt     the state for one attempt
    change      what an attempt has changed was sent to the changelog
    expired     what is to be deleted, as records for the changelog
    keep, discard     the round was committed, or not

The changelog is the truth, and a file is what was read of it. The change of a record is written to
the changelog with its results, and so in the same transaction if the handler is exactly once. The
file gets it after that. A worker that is given a partition first reads what its file lacks; until
then the partition is paused, and the others are handled.
"""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from barnabas.app.clock import Clock
from barnabas.app.handler import Handler
from barnabas.app.outgoing import Encoded
from barnabas.app.patience import Patience
from barnabas.app.ports import Source
from barnabas.app.runners.unread import put_back
from barnabas.app.state.attempt_state import AttemptState
from barnabas.app.state.changelog import Changelog, StateRow, deleted
from barnabas.app.state.reader import StateReader
from barnabas.app.state.refused_changes import RefusedChanges
from barnabas.app.state.restoration import Restoration, percent
from barnabas.app.state.standbys import Standbys
from barnabas.app.state.state import StoredState
from barnabas.app.state.state_partition import StatePartition
from barnabas.app.undelivered import SinkFailed, worst_of
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError, GiveUp, StateLost, UnknownTopic
from barnabas.records.message import Message

_EXPIRED = 1000  # of a partition, in one round
CONFIRMED_BYTES = 256 * 1024
"""A larger change is waited for at once, since the topic may refuse it."""


class HandlerStates:
    """Of one handler. `folder` None: in memory."""

    def __init__(
        self,
        handler: Handler,
        source: Source,
        changelog: Changelog,
        clock: Clock,
        patience: Patience,
        folder: Path | None,
    ) -> None:
        assert handler.state is not None
        self._handler = handler
        self._declared = handler.state
        self._topic = handler.changelog
        self._source = source
        self._restoration = Restoration(handler, changelog, clock)
        self.standbys: Standbys | None = None
        if handler.standby and folder is not None:
            self.standbys = Standbys(handler, source, self._restoration, clock, folder)
        self._clock = clock
        self._patience = patience
        self._folder = folder
        self._partitions: dict[int, StatePartition] = {}
        self._failure: Exception | None = None
        self.unreadable: StateLost | None = None
        """A value of the changelog that is not of the declared type."""
        self.refused = RefusedChanges()

    # -- partitions ----------------------------------------------------------------------------

    async def admit(self, messages: list[Message]) -> list[Message]:
        """Those of them that may be handled now; the others are read again."""
        await self._follow([each.partition for each in self._source.assignment])
        if self._failure is not None:
            raise self._failure
        late = {
            each
            for each in {message.partition for message in messages}
            if not await self._is_current(each)
        }
        if not late:
            return messages
        await put_back(self._source, [each for each in messages if each.partition in late])
        for each in late:
            one = self._partitions.get(each)
            if one is not None and one.is_restored:  # by now
                await self._resume(one)
        return [each for each in messages if each.partition not in late]

    async def _follow(self, partitions: Sequence[int]) -> None:
        gone = [each for each in self._partitions if each not in partitions]
        new = [each for each in partitions if each not in self._partitions]
        await self.release(gone)
        for each in new:
            one = await self.standbys.take(each) if self.standbys is not None else None
            if one is None:
                expires = self._declared.expires_ms is not None
                one = StatePartition(each, self._folder, expires=expires)
            self._partitions[each] = one
            self._begin(one)
        if self.standbys is not None:
            self.standbys.follow(partitions)

    async def release(self, partitions: Iterable[int]) -> None:
        """Others have these now."""
        gone = list(partitions)
        self.refused.drop(gone)
        for each in gone:
            one = self._partitions.pop(each, None)
            if one is not None:
                await one.close()

    async def close(self) -> None:
        if self.standbys is not None:
            await self.standbys.close()
        await self.release(list(self._partitions))
        await self._restoration.changelog.close()

    async def _is_current(self, partition: int) -> bool:
        one = self._partitions.get(partition)
        if one is None or not one.is_restored:
            return False
        if not one.is_current:
            extent = await self._restoration.extent(partition)
            one.is_current = (extent.topic_id, extent.end) == (
                one.store.place.topic_id,
                one.store.place.next_offset,
            )
            if not one.is_current:
                self._begin(one)
        return one.is_current

    def copy(self, partition: int) -> StatePartition | None:
        """What this process has of a partition, as its own or as a standby."""
        one = self._partitions.get(partition)
        if one is None and self.standbys is not None:
            one = self.standbys.copy(partition)
        return one if one is not None and one.is_open and one.is_restored else None

    async def reader(self) -> StateReader:
        """Reads what is committed, with the copies that this process has."""
        await self._restoration.ensure()
        changelog = self._restoration.changelog
        return StateReader(changelog, self._declared, self._clock, self.copy)

    def deleted(self) -> StateLost:
        """There is no changelog to write to."""
        return deleted(self._handler.changelog_names)

    # -- restoring -----------------------------------------------------------------------------

    @property
    def restoring(self) -> list[str]:
        """Which partitions can't be handled yet, and how far they are; for `/readyz`."""
        return [
            f"handler {self._handler.name} restores the state of partition {each.partition}: "
            f"{percent(each)}"
            for each in self._partitions.values()
            if not each.is_restored
        ]

    def _begin(self, one: StatePartition) -> None:
        one.is_restored = one.is_current = False
        one.restoring = asyncio.ensure_future(self._restore(one))

    async def _restore(self, one: StatePartition) -> None:
        try:
            while True:
                try:
                    await self._restoration.bring_up(one)
                except BarnabasError as error:
                    await self._patience.pause(error)
                else:
                    break
            self._patience.succeeded()
            one.is_restored = True
            await self._resume(one)
        except Exception as error:  # noqa: BLE001 - raised by the runner
            self._failure = error

    async def _resume(self, one: StatePartition) -> None:
        partition = TopicPartition(self._handler.topics[0], one.partition)
        if partition in self._source.assignment:
            await self._source.resume(partition)

    # -- one record ----------------------------------------------------------------------------

    def attempt(self, message: Message) -> AttemptState:
        """The state for one attempt."""
        return AttemptState(message, self._declared.name, self._topic, self._open)

    def _open(self, message: Message) -> StoredState[Any]:
        key, partition = message.key, message.partition
        if key is None:
            raise GiveUp("the record has no key, and the state of a handler is kept by key")
        try:
            row = self._partitions[partition].get(key)
        except BarnabasError as error:
            raise SinkFailed(error) from error
        return self._declared.open(key, row, self._clock.time_ms(), self._on_unreadable)

    def _on_unreadable(self, key: bytes, error: Exception) -> None:
        """The function gets the error, and may catch it; the handler stops nevertheless."""
        self.unreadable = StateLost(
            f"handler {self._handler.name}: the value that {self._topic} has for key {key!r} "
            f"can't be read: {error}. Change the type of {self._declared.name} so that it takes "
            "old values too, such as with defaults for new fields. "
            f"{self._handler.changelog_names.remedy}"
        )

    def change(self, written: Encoded, receipt: Any) -> None:
        """It was sent."""
        assert written.key is not None
        assert written.partition is not None
        row = StateRow(written.key, written.value, self._clock.time_ms())
        self._partitions[written.partition].change(row, receipt)

    # -- expiry --------------------------------------------------------------------------------

    @property
    def _expired_ms(self) -> int | None:
        """Values that were written then, or before, have expired; None if none does."""
        expires_ms = self._declared.expires_ms
        return None if expires_ms is None else self._clock.time_ms() - expires_ms

    @property
    def are_expiring(self) -> bool:
        """Whether values are to be deleted now."""
        until_ms = self._expired_ms
        return until_ms is not None and any(
            each.is_expiring(until_ms) for each in self._partitions.values()
        )

    async def expired(self) -> list[Encoded]:
        """Deletes the oldest values that have expired, when it was sent; no round goes on."""
        until_ms = self._expired_ms
        if until_ms is None:
            return []
        found: list[Encoded] = []
        for partition, one in list(self._partitions.items()):
            if one.is_expiring(until_ms) and await self._is_current(partition):
                found += [
                    Encoded(self._topic, None, key, (), partition)
                    for key in one.store.written_until(until_ms, _EXPIRED)
                ]
        return found

    # -- one round -----------------------------------------------------------------------------

    async def keep(self) -> None:
        """The round was committed, or is about to be: the changelog has all of its changes.

        Raises if it has not, once it is known of each of them.
        """
        failures: list[BarnabasError] = []
        for each in self._partitions.values():
            was_current = each.is_current
            try:
                await each.keep(self._clock.time_ms(), alone=not self._handler.exactly_once)
            except BarnabasError as error:
                failures.append(error)
                continue
            if was_current and not each.is_current:
                self._begin(each)  # somebody else has written, or created the topic again
        if failures:
            failure = worst_of(failures)
            if isinstance(failure, UnknownTopic):
                raise self.deleted() from failure
            raise failure

    def discard(self, partitions: set[int]) -> None:
        """The round was not committed: what the changelog has is looked up again."""
        for each in partitions & self._partitions.keys():
            self._partitions[each].discard()
            self._partitions[each].is_current = False
