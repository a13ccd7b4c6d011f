"""The way to the right broker: bootstrap, metadata, leaders, coordinators, and trying again."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from enum import IntEnum
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar

from barnabas.client.connect.address import BootstrapServers, parse_addresses
from barnabas.client.connect.any_broker import AnyBroker
from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS, BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check, is_busy, worth_retrying
from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    Broker,
    ClusterImage,
    TopicMetadata,
    TopicPartition,
    image_of,
    newer,
)
from barnabas.client.connect.connection_pool import GENERAL, Channel, ConnectionPool
from barnabas.client.connect.environment import BUSY, RETRY, ClientEnvironment, surroundings
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.retry_log import SILENCE_S, RetryLog
from barnabas.client.connect.security_settings import NO_SECURITY, SecuritySettings
from barnabas.client.connect.traffic import Traffic
from barnabas.errors import (
    BarnabasError,
    BrokerUnreachable,
    HandshakeFailed,
    HostUnknown,
    NobodyListens,
    RequestTimedOut,
    SignInFailed,
)
from barnabas.wire.endpoint import Address
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_SINGLE_KEY_COORDINATOR = 3  # from version 4 on, one request may ask for several
_AUTO_CREATE_WAIT_MS = 3_000
_LATE_S = 1.0
_MISLED_S = 10.0

T = TypeVar("T")
ResponseT = TypeVar("ResponseT", bound=Response)
OnRetry = Callable[[BarnabasError, float], None]
"""Called before a retry with the error and the seconds since the first attempt."""


class CoordinatorType(IntEnum):
    """What is coordinated, by its number in requests."""

    GROUP = 0
    TRANSACTION = 1


class ClusterClient:
    """A cluster as seen from one client. Use it as an async context manager.

    `retry_timeout_ms` bounds how long an operation is tried again while brokers are away or
    leadership moves; `on_retry` is called for each retry, by default the log.
    """

    def __init__(
        self,
        bootstrap: BootstrapServers,
        *,
        client_id: str = "barnabas",
        connect_timeout_ms: int = 5_000,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        retry_timeout_ms: int = 30_000,
        on_retry: OnRetry | None = None,
        security: SecuritySettings = NO_SECURITY,
        environment: ClientEnvironment | None = None,
    ) -> None:
        environment = surroundings() if environment is None else environment
        self.environment = environment
        self._monotonic = environment.monotonic
        self.client_id = client_id
        self.user = security.sasl_username
        """Who signs in; None if that is not a name with a password."""
        check_at_least(1, request_timeout_ms=request_timeout_ms)
        self.request_timeout_ms = request_timeout_ms
        self.retry_timeout_ms = retry_timeout_ms
        self.on_retry = on_retry or RetryLog(environment.monotonic)
        self._connect_timeout_ms = connect_timeout_ms
        self._image = ClusterImage(None, -1, {}, {})
        self._connections = ConnectionPool(
            client_id, connect_timeout_ms, environment.connect, security, environment.monotonic
        )
        self._any = AnyBroker(self._connections, parse_addresses(bootstrap))
        self._coordinators: dict[tuple[CoordinatorType, str], int] = {}
        self._found = False  # whether some broker was where it says it is
        self._misled_since: float | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.refresh([])
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._connections.close()

    async def close_channel(self, channel: Channel) -> None:
        """Close the connections of a user who no longer needs them."""
        await self._connections.close_channel(channel)

    # -- counts, for any thread ----------------------------------------------------------------

    @property
    def traffic(self) -> Traffic:
        """What is counted of all its requests."""
        return self._connections.traffic

    @property
    def connection_count(self) -> int:
        """Connections that are open."""
        return len(self._connections.open_connections())

    @property
    def requests_in_flight(self) -> int:
        """Requests that wait for their answer."""
        return sum(each.in_flight for each in self._connections.open_connections())

    # -- metadata ------------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str | None:
        return self._image.cluster_id

    @property
    def controller_id(self) -> int:
        return self._image.controller_id

    @property
    def brokers(self) -> dict[int, Broker]:
        return self._image.brokers

    async def refresh(
        self, topics: Iterable[str] | None, *, auto_create: bool = False
    ) -> dict[str, TopicMetadata]:
        """Ask any broker about these topics (None: all), and remember what it says."""
        request = MetadataRequest(
            topics=None if topics is None else [MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=auto_create,
        )
        response = await self.ask_any(request)
        check(response.error_code, "cluster metadata")
        image = image_of(response)
        known = self._image.topics
        found = {name: newer(known.get(name), topic) for name, topic in image.topics.items()}
        self._image = image._replace(topics={**known, **found})
        return found

    async def topic(
        self, name: str, *, auto_create: bool = False, needs: str = "describe"
    ) -> TopicMetadata:
        """What is known about a topic, asked for if nothing is.

        Raises `BrokerError` if there is no such topic, or it is hidden from a user without any
        right to it: the error names what the client `needs`. With `auto_create` the broker is asked
        to make it, and gets some time to do so.
        """
        known = self.known_topic(name)
        if known is not None:
            return known
        deadline = self._monotonic() + (_AUTO_CREATE_WAIT_MS if auto_create else 0) / 1000
        for pause in RETRY.pauses(self.environment.random):
            topic = (await self.refresh([name], auto_create=auto_create))[name]
            if not topic.error_code:
                return topic
            error = broker_error(topic.error_code, f"topic {name}", needs=needs)
            if not error.retriable or self._monotonic() + pause > deadline:
                raise error
            await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    def known_topic(self, name: str) -> TopicMetadata | None:
        """What is known about a topic that exists, without asking anybody."""
        known = self._image.topics.get(name)
        return None if known is None or known.error_code else known

    def known_topics(self) -> list[str]:
        """The names of all topics that were heard of."""
        return list(self._image.topics)

    async def topics(self, names: Sequence[str]) -> dict[str, TopicMetadata]:
        """Fresh metadata of these topics; raises `BrokerError` if one does not exist."""
        topics = await self.refresh(names)
        for name in names:
            check(topics[name].error_code, f"topic {name}", needs="describe")
        return {name: topics[name] for name in names}

    async def leader(self, partition: TopicPartition) -> int:
        """The node that leads a partition, by the cached metadata."""
        await self.topic(partition.topic)
        return self.known_leader(partition)

    def known_leader(self, partition: TopicPartition) -> int:
        """The node that leads a partition, without a request. Raises `BrokerError`."""
        topic = self.known_topic(partition.topic)
        if topic is None or not 0 <= partition.partition < len(topic.partitions):
            raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}")
        leader = topic.partitions[partition.partition].leader
        if leader == NO_LEADER:
            raise broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition}")
        return leader

    async def by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[int, list[TopicPartition]]:
        """Group partitions by the node that leads them."""
        grouped: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for partition in partitions:
            grouped[await self.leader(partition)].append(partition)
        return grouped

    async def while_leading(
        self,
        node_id: int,
        partitions: Collection[TopicPartition],
        answer: Coroutine[Any, Any, T],
        *,
        patience_ms: int = 0,
    ) -> T:
        """Wait for an answer only as long as the broker leads one of the partitions it is about.

        A broker that hangs keeps its connections open. The others replace it long before a request
        to it times out, and they say so when they are asked. If none does, `on_retry` is called.
        """
        waiting = asyncio.ensure_future(answer)
        patience_s = patience_ms / 1000 + _LATE_S
        mention = asyncio.get_running_loop().call_later(
            patience_ms / 1000 + SILENCE_S,
            self.on_retry,
            RequestTimedOut(f"broker {node_id} does not answer: does it hang?"),
            SILENCE_S,
        )
        try:
            while not (await asyncio.wait({waiting}, timeout=patience_s))[0]:
                patience_s = _LATE_S
                await self.refresh_leaders({each.topic for each in partitions})
                if not any(self._leads(node_id, each) for each in partitions):
                    raise RequestTimedOut(f"broker {node_id} hangs and is no longer the leader")
            return waiting.result()
        finally:
            mention.cancel()
            waiting.cancel()

    def _leads(self, node_id: int, partition: TopicPartition) -> bool:
        topic = self.known_topic(partition.topic)
        if topic is None or partition.partition >= len(topic.partitions):
            return True  # nothing better is known
        return topic.partitions[partition.partition].leader in (node_id, NO_LEADER)

    # -- connections ---------------------------------------------------------------------------

    async def connection(self, node_id: int, channel: Channel = GENERAL) -> BrokerConnection:
        """The connection to a broker, opened if there is none."""
        broker = self._image.brokers.get(node_id)
        if broker is None:
            raise BrokerUnreachable(f"broker {node_id} is not available; check that it is running")
        try:
            connection = await self._connections.to(broker.address, channel)
        except HandshakeFailed as error:
            failed = HandshakeFailed(
                f"no secure connection to broker {node_id} at {broker.address}: {error}"
            )
            failed.retriable = True  # certificates are replaced one after the other
            raise failed from error
        except SignInFailed as error:
            refused = SignInFailed(f"broker {node_id} at {broker.address}: {error}")
            refused.retriable = True  # another broker has accepted it, and this one may be behind
            raise refused from error
        except BrokerUnreachable as error:
            if not isinstance(error, HostUnknown) and await self._is_another_reached(node_id):
                raise BrokerUnreachable.of_node(node_id, str(broker.address), str(error)) from error
            raise BrokerUnreachable.at_advertised(
                node_id,
                str(broker.address),
                str(error),
                resolved=not isinstance(error, HostUnknown),
                final=self._is_misled(error),
            ) from error
        self._found = True
        return connection

    def _is_misled(self, error: BrokerUnreachable) -> bool:
        """Whether brokers are there, and for a while none has been where they all say they are.

        While a cluster starts, a node may know only of others, which are not up yet.
        """
        advertised = {each.address for each in self.brokers.values()}
        elsewhere = bool(self._connections.reached() - advertised)
        if self._found or not elsewhere or not isinstance(error, HostUnknown | NobodyListens):
            return False
        if self._misled_since is None:
            self._misled_since = self._monotonic()
        return self._monotonic() - self._misled_since >= _MISLED_S

    async def _is_another_reached(self, node_id: int) -> bool:
        """Whether some other broker answers at the address that it advertises."""

        async def is_reached(address: Address) -> bool:
            try:
                await self._connections.to(address)
            except BarnabasError:
                return False
            return True

        others = [each.address for each in self.brokers.values() if each.node_id != node_id]
        if not self._connections.reached().isdisjoint(others):
            return True
        return any(await asyncio.gather(*map(is_reached, others)))

    async def any_connection(self) -> BrokerConnection:
        """A connection to some broker: the one that answered last, a known or a bootstrap one."""

        async def take(connection: BrokerConnection) -> BrokerConnection:
            return connection

        return await self._with_any(take)

    async def ask_any(
        self, request: Request[ResponseT], *, max_version: int | None = None
    ) -> ResponseT:
        """Ask what every broker knows; one that says nothing soon does not keep us from others."""
        timeout_ms = min(self.request_timeout_ms, self._connect_timeout_ms)

        async def ask(connection: BrokerConnection) -> ResponseT:
            return await connection.send(request, max_version=max_version, timeout_ms=timeout_ms)

        return await self._with_any(ask)

    async def _with_any(self, use: Callable[[BrokerConnection], Awaitable[T]]) -> T:
        return await self._any.use(use, [broker.address for broker in self.brokers.values()])

    async def controller(self) -> BrokerConnection:
        """The connection to the broker that takes changes of topics and configs."""
        if self.controller_id in self.brokers:
            return await self.connection(self.controller_id)
        return await self.any_connection()

    async def coordinator(self, group_id: str, channel: Channel = GENERAL) -> BrokerConnection:
        """The connection to the broker that coordinates a group."""
        return await self._coordinator(CoordinatorType.GROUP, group_id, channel)

    async def transaction_coordinator(
        self, transactional_id: str, channel: Channel = GENERAL
    ) -> BrokerConnection:
        """The connection to the broker that coordinates the transactions of an id."""
        return await self._coordinator(CoordinatorType.TRANSACTION, transactional_id, channel)

    async def _coordinator(
        self, kind: CoordinatorType, name: str, channel: Channel
    ) -> BrokerConnection:
        if (kind, name) not in self._coordinators:
            response = await self.ask_any(
                FindCoordinatorRequest(key=name, key_type=kind),
                max_version=_SINGLE_KEY_COORDINATOR,
            )
            what = "group" if kind is CoordinatorType.GROUP else "transactional id"
            check(response.error_code, f"{what} {name}", response.error_message, needs="describe")
            if response.node_id not in self.brokers:
                await self.refresh([])
            self._coordinators[kind, name] = response.node_id
        return await self.connection(self._coordinators[kind, name], channel)

    # -- trying again --------------------------------------------------------------------------

    async def retrying(
        self, attempt: Callable[[], Awaitable[T]], *, topics: Iterable[str] = ()
    ) -> T:
        """Make attempts until one succeeds, fails for good, or the time is over.

        Metadata of `topics` is refreshed before each further attempt and coordinators are looked
        up again. That something does not exist is taken as final here.
        """
        started = self._monotonic()
        for number in count(1):
            try:
                return await attempt()
            except BarnabasError as error:
                failing_s = self._monotonic() - started
                busy = is_busy(error)
                pause = (BUSY if busy else RETRY).pause(number, self.environment.random)
                if not worth_retrying(error) or failing_s + pause > self.retry_timeout_ms / 1000:
                    raise
                self.on_retry(error, failing_s)
            await asyncio.sleep(pause)
            if not busy:
                await self.refresh_leaders(topics)
        raise AssertionError("counting never ends")

    def forget_coordinator(self, group_id: str) -> None:
        """Look the coordinator of a group up again when it is needed next."""
        self._coordinators.pop((CoordinatorType.GROUP, group_id), None)

    async def refresh_leaders(self, topics: Iterable[str]) -> None:
        """Ask again who leads and coordinates; a cluster that is away is asked again later."""
        self._coordinators.clear()
        self._any.doubt()
        try:
            await self.refresh(topics)
        except BarnabasError as error:
            if not error.retriable:
                raise
