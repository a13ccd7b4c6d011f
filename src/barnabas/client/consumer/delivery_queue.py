"""Messages on their way to the application, in the application's thread.

    completed fetches -> `refill` decodes a batch -> `rest`, which the application iterates

`for message in queue.rest: queue.current = message` is all that happens per message; everything
else is done once per batch. The core's thread reads `current`. It empties `pending` when the group
rebalances or the application seeks: the application's loop then ends, and what was not delivered is
fetched again if it is still needed.

One thread at a time uses it.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from threading import get_ident
from typing import Any

from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.completed_fetch import CompletedFetchReader
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.errors import BarnabasError, UndecodableRecord
from barnabas.formats import SchemaNotLoadedError
from barnabas.records.message import Message

Decode = Callable[[bytes | None], Any]
"""Bytes of a key or value to what the application gets."""

_ENOUGH = 10_000  # records in one list, if the caller gives no limit


class DeliveryQueue:
    """Of one consumer."""

    def __init__(
        self,
        fetcher: Fetcher,
        mode: CommitMode,
        decode_key: Decode | None = None,
        decode_value: Decode | None = None,
    ) -> None:
        self.current: Message | None = None
        """The one that the application is at work on, if it takes them one by one."""
        self.pending: list[Message] = []
        self.rest: Iterator[Message] = iter(self.pending)
        self.polls = 0
        """How often the application has asked for messages."""
        self.records = 0
        """How many were decoded for it."""
        self.interrupted = False
        """Whether the core needs the application to come by, before it gets anything else."""
        self.decode_key = decode_key
        self.decode_value = decode_value
        self.tracks = mode is CommitMode.DONE
        """Whether messages are done in any order."""
        self._fetcher = fetcher
        self.mode = mode
        self._is_interrupted = False
        self._reader: CompletedFetchReader | None = None
        self._progress: PartitionProgress | None = None
        self._end = (0, 0)  # behind the last of `pending`, and what is read next then
        self._delivered: list[PartitionProgress] = []
        self._thread: int | None = None

    # -- the application's thread --------------------------------------------------------------

    def settle(self) -> None:
        """The application asks for more: what it was given one by one or as a list is over."""
        self.polls += 1
        self._thread = get_ident()
        message, progress = self.current, self._progress
        if message is not None and progress is not None:
            self._note(progress, message.offset + 1)
            if self.mode is CommitMode.AUTO:
                progress.finish(message.offset + 1)
            self.current = None
        if self._delivered:
            if self.mode is CommitMode.AUTO:
                for each in self._delivered:
                    each.finish(each.reach[0])
            self._delivered.clear()

    def finish_at_end(self) -> None:
        """The same, when the application ends well; another thread may still be at work."""
        if self._thread == get_ident():
            self.settle()

    def refill(self) -> bool:
        """Open the next batch that is there. False: there is none, or the core waits for us."""
        while not self.interrupted:
            messages = self._read(self.decode_key, self.decode_value)
            if messages is None:
                return False
            self.pending = messages
            self.rest = iter(messages)
            if self._is_interrupted:  # it did not see this batch when it emptied the last one
                messages.clear()
            return True
        return False

    def take(self, max_records: int | None) -> list[Message]:
        """As many as are there, as a list."""
        limit = _ENOUGH if max_records is None else max_records
        taken: list[Message] = []
        try:
            while len(taken) < limit:
                part = list(islice(self.rest, limit - len(taken)))
                if part:
                    self._deliver(part)
                    taken = taken + part if taken else part
                elif not self.refill():
                    break
        except (BarnabasError, SchemaNotLoadedError):
            if not taken:
                raise  # and it comes again when the others were taken
        return taken

    def _deliver(self, part: list[Message]) -> None:
        progress = self._progress
        assert progress is not None
        self._note(progress, part[-1].offset + 1)
        if not self._delivered or self._delivered[-1] is not progress:
            self._delivered.append(progress)

    def _note(self, progress: PartitionProgress, behind: int) -> None:
        """The messages before `behind` are the application's now."""
        last, following = self._end
        progress.deliver(behind, following if behind == last else behind)

    def read_raw(self) -> tuple[PartitionProgress, list[Message]] | None:
        """The next batch, all of it handed out, with bytes for keys and values: for streams."""
        messages = None if self.interrupted else self._read(None, None)
        if not messages:
            return None
        assert self._progress is not None
        self._progress.deliver(*self._end)
        return self._progress, messages

    def next_reader(self) -> CompletedFetchReader | None:
        """The fetch that is being read, or the next one."""
        reader = self._reader
        if reader is not None and reader.completed.is_current:
            return reader
        completed = self._fetcher.buffer.take()
        self._reader = None if completed is None else CompletedFetchReader(completed)
        return self._reader

    def close_again(self) -> None:
        """Let what was opened as messages and not handed out be read from the batch again."""
        message = next(self.rest, None)
        if message is not None and self._reader is not None:
            self._reader.go_back_to(message.offset)
        self.rest = iter(())

    def deliver_batch(self, reader: CompletedFetchReader) -> None:
        """All that was read so far is the application's now."""
        progress = reader.progress
        progress.deliver(reader.position, reader.position)
        if not self._delivered or self._delivered[-1] is not progress:
            self._delivered.append(progress)

    def leave(self, reader: CompletedFetchReader) -> None:
        """Go on with the next fetch: nothing is left of this one."""
        reader.progress.skip_to(reader.position)
        self._reader = None

    def _read(self, decode_key: Decode | None, decode_value: Decode | None) -> list[Message] | None:
        while (reader := self.next_reader()) is not None:
            messages = reader.read()
            if messages:
                if decode_key is not None or decode_value is not None:
                    messages = _decoded(messages, decode_key, decode_value, reader)
                self.records += len(messages)
                self._progress = reader.progress
                self._end = (messages[-1].offset + 1, reader.position)
                if self.tracks:
                    reader.progress.track(offsets_of(messages))
                return messages
            self.leave(reader)
        return None

    # -- the core's thread ---------------------------------------------------------------------

    def interrupt(self) -> None:
        """Have the application call the core after the message that it is processing.

        What is not delivered because of this has to be fetched again before `end_interruption`.
        """
        self.interrupted = self._is_interrupted = True
        self.pending.clear()

    def end_interruption(self) -> None:
        self._is_interrupted = False

    def drop(self, progress: PartitionProgress) -> bool:
        """Deliver nothing else of a partition: it is fetched again, or elsewhere.

        Returns whether it is the one that was opened last.
        """
        if self._progress is not progress:
            return False
        self.pending.clear()
        message = self.current
        if message is not None:
            progress.deliver(message.offset + 1, message.offset + 1)
        progress.untrack()
        return True

    @property
    def is_ready(self) -> bool:
        """Whether something is there to be handed out."""
        reader = self._reader
        return bool(self._fetcher.buffer) or (reader is not None and reader.completed.is_current)

    def at_work_on(self, progress: PartitionProgress) -> Message | None:
        """The message of this partition that the application has, if it takes them one by one."""
        if self._progress is not progress:
            return None
        return self.current


def offsets_of(messages: list[Message]) -> range | tuple[int, ...]:
    """Their offsets, in as little room as they need."""
    first, last = messages[0].offset, messages[-1].offset
    if last - first == len(messages) - 1:
        return range(first, last + 1)
    return tuple(message.offset for message in messages)


def _decoded(
    messages: list[Message],
    decode_key: Decode | None,
    decode_value: Decode | None,
    reader: CompletedFetchReader,
) -> list[Message]:
    """The messages as the application wants them, up to one that cannot be decoded."""
    decoded: list[Message] = []
    for message in messages:
        try:
            decoded.append(decode_message(message, decode_key, decode_value))
        except (UndecodableRecord, SchemaNotLoadedError):
            reader.go_back_to(message.offset)
            if not decoded:
                raise
            break
    return decoded


def decode_message(
    message: Message, decode_key: Decode | None, decode_value: Decode | None
) -> Message:
    """The message with its key and value decoded."""
    topic, partition, offset, timestamp_ms, key, value, headers = message
    what = "key"
    try:
        if decode_key is not None:
            key = decode_key(key)
        what = "value"
        if decode_value is not None:
            value = decode_value(value)
    except SchemaNotLoadedError:
        raise
    except Exception as error:
        raise UndecodableRecord(message, what, error) from error
    return Message(topic, partition, offset, timestamp_ms, key, value, headers)
