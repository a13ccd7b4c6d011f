"""Applies committed metadata to a node: to the image first, then to everything that depends on it.

Committed records change the image at once. What they mean for partitions (open, lead, follow,
delete) is done in their order, a slice at a time, so that ten thousand of them do not stall the
event loop; a handful is done on the spot.
"""

import logging
from asyncio import AbstractEventLoop, Future, Handle
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from barnabas.metadata.acl import Acl
from barnabas.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
    TopicImage,
)
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)

logger = logging.getLogger(__name__)

_SLICE_PARTITIONS = 50


@dataclass(frozen=True, slots=True)
class Followers:
    """The callbacks for each kind of change."""

    topic_changed: Callable[[TopicImage, Sequence[int]], None]
    """In the partitions with these indexes."""
    topics_removed: Callable[[Sequence[TopicImage]], None]
    """Called at once, before a request can find another topic of the same name in the image."""
    topic_removed: Callable[[TopicImage], Iterator[int]]
    """Runs in steps; each returns how many partitions it handled."""
    topic_reconfigured: Callable[[str], None]
    broker_reconfigured: Callable[[], None]
    brokers_changed: Callable[[], None]
    acls_restored: Callable[[Iterable[Acl]], None]
    acl_changed: Callable[[Acl, bool], None]
    """A rule was added or, with False, removed."""
    credentials_changed: Callable[[Collection[str] | None], None]
    """Passwords of these users, or delegation tokens with these ids; None: any of them."""
    quotas_changed: Callable[[], None]
    client_metrics_changed: Callable[[], None]
    features_changed: Callable[[], None]
    failed: Callable[[str], None]
    """Called when a bug kept this node from applying metadata: it can't be trusted any longer."""


class MetadataFollower:
    def __init__(self, loop: AbstractEventLoop, image: MetadataImage, followers: Followers) -> None:
        self._loop = loop
        self._image = image
        self._followers = followers
        self._changed: dict[bytes, set[int] | None] = {}
        self._todo: deque[Callable[[], int]] = deque()
        """Pending steps; each returns how many partitions it handled."""
        self._removals: deque[Iterator[int]] = deque()
        """The removals of topics among them, in the same order."""
        self._scheduled: Handle | None = None
        self._is_working = False
        self._waiting: list[Future[None]] = []
        self.is_held = True
        """Until the node is registered, only the image is updated."""
        self.end_offset = 0

    # -- committed records -------------------------------------------------------------------------

    def restore(self, records: list[MetadataRecord], end_offset: int) -> None:
        """A snapshot replaces all state so far."""
        before = dict(self._image.topics_by_id)
        self._image.restore(records)
        self.end_offset = end_offset
        self._removed(
            [topic for id_, topic in before.items() if id_ not in self._image.topics_by_id]
        )
        for topic in self._image.topics.values():
            self._changed[topic.topic_id] = None
            self._reconfigured(topic.name)
        self._flush_changed()
        self._followers.broker_reconfigured()
        self._followers.acls_restored(self._image.acls.by_id.values())
        self._followers.credentials_changed(None)
        self._followers.quotas_changed()
        self._followers.client_metrics_changed()
        self._followers.features_changed()
        self._todo.append(self._brokers_changed)
        self._work()

    def commit(self, records: list[MetadataRecord], end_offset: int) -> None:
        """Apply committed records."""
        brokers_changed = quotas_changed = False
        removed: list[TopicImage] = []
        for record in records:
            match record:
                case TopicRecord():
                    self._image.replay(record)
                    self._changed[record.topic_id] = None
                case PartitionRecord() | PartitionChangeRecord():
                    self._image.replay(record)
                    indexes = self._changed.setdefault(record.topic_id, set())
                    if indexes is not None:
                        indexes.add(record.partition_id)
                case RemoveTopicRecord():
                    self._flush_changed()
                    topic = self._image.topics_by_id[record.topic_id]
                    self._image.replay(record)
                    self._delete(topic)
                    removed.append(topic)
                case ConfigRecord():
                    self._image.replay(record)
                    self._configured(record)
                case AccessControlEntryRecord():
                    self._image.replay(record)
                    self._followers.acl_changed(self._image.acls.by_id[record.id], True)
                case RemoveAccessControlEntryRecord():
                    acl = self._image.acls.by_id[record.id]
                    self._image.replay(record)
                    self._followers.acl_changed(acl, False)
                case ClientQuotaRecord():
                    self._image.replay(record)
                    quotas_changed = True
                case FeatureLevelRecord():
                    self._image.replay(record)
                    self._followers.features_changed()
                case _:
                    self._image.replay(record)
                    brokers_changed |= isinstance(
                        record,
                        RegisterBrokerRecord
                        | UnregisterBrokerRecord
                        | BrokerRegistrationChangeRecord,
                    )
        self.end_offset = end_offset
        if removed:
            self._followers.topics_removed(removed)
        self._flush_changed()
        self._credentials_changed(records)
        if quotas_changed:
            self._followers.quotas_changed()
        if brokers_changed:
            # This comes last: a new leader checks for brokers that are gone only once it leads.
            self._todo.append(self._brokers_changed)
        self._work()

    def _credentials_changed(self, records: Iterable[MetadataRecord]) -> None:
        names = set(_credentials_of(records))
        if names:
            self._followers.credentials_changed(names)

    def release(self) -> None:
        """The node is registered: from now on it applies metadata to its partitions."""
        if self.is_held:
            self.is_held = False
            for topic in self._image.topics.values():
                self._changed[topic.topic_id] = None
            self._flush_changed()
            self._work()

    # -- applying them -----------------------------------------------------------------------------

    def _flush_changed(self) -> None:
        for topic_id, indexes in self._changed.items():
            if not self.is_held:
                self._todo += self._changes(topic_id, indexes)
        self._changed.clear()

    def _changes(self, topic_id: bytes, indexes: set[int] | None) -> Iterator[Callable[[], int]]:
        """The steps that apply the image to a topic's partitions; None stands for all
        partitions."""
        topic = self._image.topics_by_id[topic_id]
        wanted = range(len(topic.partitions)) if indexes is None else sorted(indexes)
        for first in range(0, len(wanted), _SLICE_PARTITIONS):
            yield partial(self._change, topic, wanted[first : first + _SLICE_PARTITIONS])

    def _change(self, topic: TopicImage, indexes: Sequence[int]) -> int:
        if self._image.topics_by_id.get(topic.topic_id) is topic:  # else it was removed meanwhile
            self._followers.topic_changed(topic, indexes)
        return len(indexes)

    def _brokers_changed(self) -> int:
        self._followers.brokers_changed()
        return 0

    def _removed(self, topics: Sequence[TopicImage]) -> None:
        for topic in topics:
            self._delete(topic)
        if topics:
            self._followers.topics_removed(topics)

    def _delete(self, topic: TopicImage) -> None:
        self._removals.append(self._followers.topic_removed(topic))
        self._todo.append(self._remove)

    def _remove(self) -> int:
        for done in self._removals[0]:
            # This comes first: the next record may create a new topic of that name.
            self._todo.appendleft(self._remove)
            return done
        self._removals.popleft()
        return 0

    def _configured(self, record: ConfigRecord) -> None:
        if record.resource_type == BROKER_RESOURCE:
            self._followers.broker_reconfigured()
            for name in self._image.topics:
                self._reconfigured(name)
        elif record.resource_type == TOPIC_RESOURCE:
            self._reconfigured(record.resource_name)
        elif record.resource_type == CLIENT_METRICS_RESOURCE:
            self._followers.client_metrics_changed()

    def _reconfigured(self, name: str) -> None:
        def reconfigure() -> int:
            self._followers.topic_reconfigured(name)
            return 1

        self._todo.append(reconfigure)

    def _work(self) -> None:
        """Do a slice, and leave the rest to the next turn of the event loop."""
        if self._scheduled is None and not self._is_working:
            self._slice()

    def _slice(self) -> None:
        self._scheduled = None
        self._is_working = True
        done = 0
        is_whole = False
        try:
            while self._todo and done < _SLICE_PARTITIONS:
                done += self._todo.popleft()()
            is_whole = True
        finally:
            self._is_working = False
            if not is_whole:  # the error goes on to where bugs are reported
                self._followers.failed("what is agreed could not be followed")
        if self._todo:
            self._scheduled = self._loop.call_soon(self._slice)
            return
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    @property
    def is_in_step(self) -> bool:
        return not self.is_held and not self._todo

    async def in_step(self) -> None:
        """Wait until all changes of the image are applied."""
        if self._todo:
            future: Future[None] = self._loop.create_future()
            self._waiting.append(future)
            await future

    def close(self) -> None:
        """Finish removals, drop other pending steps, and release everything that waits for them.

        The next start would not know that directories of a removed topic may be deleted.
        """
        if self._scheduled is not None:
            self._scheduled.cancel()
        self._todo.clear()
        for future in self._waiting:
            future.cancel()
        while self._removals:
            for _ in self._removals.popleft():
                pass


def _credentials_of(records: Iterable[MetadataRecord]) -> Iterator[str]:
    """The users whose passwords are changed, and the ids of delegation tokens that end."""
    for record in records:
        match record:
            case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
                yield record.name
            case RemoveDelegationTokenRecord():
                yield record.token_id
