"""Creates topics on demand, and waits until this node knows them."""

from asyncio import AbstractEventLoop, sleep

from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.control.creation_rate import CreationRate
from barnabas.broker.control.metadata_follower import MetadataFollower
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import INTERNAL_TOPICS, MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

_SEEN_AFTER_S = 2.0
"""How long to wait until this node knows a topic that the controller has created."""


class TopicCreation:
    def __init__(
        self,
        loop: AbstractEventLoop,
        calls: ControllerCalls,
        image: MetadataImage,
        follower: MetadataFollower,
        config: BrokerConfig,
    ) -> None:
        self._config = config
        self._rate = CreationRate(loop.time)
        self._loop = loop
        self._calls = calls
        self._image = image
        self._follower = follower

    async def create_for_client(self, names: list[str]) -> dict[str, int]:
        """As `create`, but rate limited; the client has to retry for the others."""
        allowed = self._rate.allowed(
            len(names),
            self._config.topic_creation.max_per_request,
            self._config.topic_creation.max_per_second,
        )
        later = dict.fromkeys(names[allowed:], int(ErrorCode.LEADER_NOT_AVAILABLE))
        return later | await self.create(names[:allowed])

    async def create(self, names: list[str]) -> dict[str, int]:
        """Create topics with default settings; returns the error code of each."""
        errors: dict[str, int] = {}
        # Internal topics are created one by one, the others together.
        internal = [[name] for name in names if name in INTERNAL_TOPICS]
        for group in [*internal, [name for name in names if name not in INTERNAL_TOPICS]]:
            errors |= await self._create(group)
        await self.seen([name for name, error in errors.items() if error == 0])
        return errors

    async def ensure(self, name: str) -> ErrorCode:
        """Create an internal topic unless it exists."""
        if name in self._image.topics:
            return ErrorCode.NONE
        errors = await self.create([name])
        return ErrorCode(errors[name])

    async def seen(self, names: list[str]) -> None:
        """Wait a while until this node knows topics that exist, so that clients can be told of
        them."""
        deadline = self._loop.time() + _SEEN_AFTER_S
        while any(name not in self._image.topics for name in names):
            if self._loop.time() > deadline:
                return
            await sleep(0.005)
        await self._follower.in_step()

    async def _create(self, names: list[str]) -> dict[str, int]:
        if not names:
            return {}
        request = CreateTopicsRequest([CreatableTopic(name, -1, -1) for name in names])
        try:
            response = await self._calls.call(request)
        except ControllerUnavailable:
            return dict.fromkeys(names, ErrorCode.LEADER_NOT_AVAILABLE)
        return {
            result.name: 0
            if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
            else result.error_code
            for result in response.topics
        }
