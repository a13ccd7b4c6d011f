"""The topic that holds the state, followed by an image."""

import logging
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from barnabas.aio.admin import Admin
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.consumer.topic_follower import TopicFollower
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import BarnabasError, InvalidArgument, NotAuthorized, UnknownTopic
from barnabas.quantities import counted
from barnabas.records.message import Message
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.settings import RegistrySettings

_log = logging.getLogger("barnabas.registry")
_CONFIGS = {"cleanup.policy": "compact"}
_LOAD_TIMEOUT_S = 60.0
_CLIENT = "schema-registry"


@dataclass
class FollowedImage:
    """What the log adds up to, and the offset of its next record."""

    image: RegistryImage = field(default_factory=RegistryImage)
    next_offset: int = 0

    def apply(self, messages: list[Message]) -> None:
        for each in messages:
            self.image.replay(each.key, each.value)
            self.next_offset = each.offset + 1


class RegistryLog:
    """Reads the topic in the background; `writer` writes it."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self.cluster_id = ""
        self._follower: TopicFollower[FollowedImage] | None = None

    async def __aenter__(self) -> Self:
        given = self._settings
        async with Admin(given.bootstrap, security=given.security) as admin:
            self.cluster_id = (await admin.cluster()).cluster_id or ""
            await self._make(admin)
        cluster = ClusterClient(
            given.bootstrap, client_id=_CLIENT, security=security_settings(given.security)
        )
        await self.follow(cluster)
        return self

    async def follow(self, cluster: ClusterClient) -> None:
        """Read the topic to its end, and go on reading it."""
        self._follower = TopicFollower(
            cluster,
            self._settings.topic,
            IsolationLevel.READ_COMMITTED,
            FollowedImage,
            FollowedImage.apply,
        )
        try:
            await self.catch_up(_LOAD_TIMEOUT_S)
        except BaseException:
            await self._follower.close()
            raise

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self._open.close()

    @property
    def image(self) -> RegistryImage:
        return self._open.state.image

    @property
    def next_offset(self) -> int:
        return self._open.state.next_offset

    @property
    def failure(self) -> BarnabasError | None:
        """Why the topic is no longer followed."""
        return self._open.failure

    async def catch_up(self, timeout_s: float | None) -> None:
        """Have all that was committed when this was called."""
        await self._open.wait_until_current(timeout_s)

    async def reach(self, offset: int, timeout_s: float) -> None:
        """Have the record with this offset."""
        await self._open.wait_until(lambda state: state.next_offset > offset, timeout_s)

    @property
    def _open(self) -> TopicFollower[FollowedImage]:
        assert self._follower is not None, "the log is not open"
        return self._follower

    async def _make(self, admin: Admin) -> None:
        topic = self._settings.topic
        try:
            found = await admin.describe_topic(topic)
        except UnknownTopic:
            await admin.create_topic(
                topic,
                partitions=1,
                replication_factor=self._settings.replication_factor,
                configs=_CONFIGS,
                exist_ok=True,
            )
            found = await admin.describe_topic(topic)
        if len(found.partitions) != 1:
            raise InvalidArgument(
                f"topic {topic} has {counted(len(found.partitions), 'partition')}, and a registry "
                "needs one order of its records: name another topic with --topic"
            )
        try:
            policy = (await admin.configs(topic=topic))["cleanup.policy"].value
        except NotAuthorized:
            _log.warning("can't see cleanup.policy of topic %s; it has to be compact", topic)
            return
        if policy != "compact":
            raise InvalidArgument(
                f"topic {topic} has cleanup.policy={policy}, and would lose schemas: "
                f"barnabas configs set topic {topic} cleanup.policy=compact"
            )
