"""Subscriptions, client instances and their metrics, as the handlers use them."""

from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from random import Random
from typing import NamedTuple
from uuid import UUID

from barnabas.broker.telemetry.client_instances import MAX_INSTANCES, ClientInstance
from barnabas.broker.telemetry.client_series import ClientSeries
from barnabas.broker.telemetry.subscriptions import (
    ClientTraits,
    Subscription,
    Wanted,
    parse_subscription,
    wanted_of,
)
from barnabas.metrics.otlp import InvalidOtlp, points_of
from barnabas.records.compression import Compression, decompress
from barnabas.records.errors import CorruptBatch, DecompressionBomb
from barnabas.wire.errors import ErrorCode

NO_INSTANCE = bytes(16)
ACCEPTED_COMPRESSION = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
MAX_POINTS = 1_000
"""Read from one push: that many take some milliseconds."""
_LOOKED_AT = 8
"""Instances that each request looks at, to forget those that are over."""


class Client(NamedTuple):
    """The sender of a request."""

    client_id: str
    software: tuple[str, str]
    address: str
    port: int

    def traits(self, instance_id: bytes) -> ClientTraits:
        shown = urlsafe_b64encode(instance_id).decode().rstrip("=")  # as Kafka shows ids
        return ClientTraits(shown, self.client_id, *self.software, self.address, str(self.port))


class Push(NamedTuple):
    instance_id: bytes
    subscription_id: int
    is_terminating: bool
    compression: int
    metrics: bytes | memoryview


class Telemetry:
    def __init__(
        self, now_ms: Callable[[], int], random: Random, max_bytes: Callable[[], int]
    ) -> None:
        self._now_ms = now_ms
        self._random = random
        self.max_bytes = max_bytes
        self._subscriptions: dict[str, Subscription] = {}
        self._generation = 0
        self._instances: OrderedDict[bytes, ClientInstance] = OrderedDict()
        """The one that was quiet for longest first."""
        self.series = ClientSeries()
        self.pushes = 0
        self.refused = 0
        self.cut = 0
        """Pushes with more points than are read."""

    @property
    def instance_count(self) -> int:
        return len(self._instances)

    @property
    def is_wanted(self) -> bool:
        """Whether any subscription asks clients for their metrics."""
        return any(each.metrics for each in self._subscriptions.values())

    def apply(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """The subscriptions of the cluster, by name."""
        self._subscriptions = {name: parse_subscription(each) for name, each in configs.items()}
        self._generation += 1

    # -- requests ----------------------------------------------------------------------------------

    def ask(self, instance_id: bytes, client: Client) -> tuple[ErrorCode, bytes, Wanted]:
        """A client asks what to push; one without an id gets a new one."""
        if instance_id == NO_INSTANCE:
            instance_id = UUID(bytes=self._random.randbytes(16), version=4).bytes
        instance = self._instance(instance_id, client)
        return instance.ask(self._now_ms()), instance_id, instance.wanted

    def push(self, push: Push, client: Client) -> ErrorCode:
        self.pushes += 1
        error = self._push(push, client)
        self.refused += error is not ErrorCode.NONE
        return error

    def _push(self, push: Push, client: Client) -> ErrorCode:
        if push.instance_id == NO_INSTANCE:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(push.instance_id, client)
        error = instance.push(
            push.subscription_id,
            self._now_ms(),
            is_terminating=push.is_terminating,
            is_compression_known=push.compression in (Compression.NONE, *ACCEPTED_COMPRESSION),
            is_too_large=len(push.metrics) > self.max_bytes(),
        )
        if error is not ErrorCode.NONE or not instance.wanted.metrics:
            return error  # what no subscription asks for is not even looked at
        try:
            data = decompress(push.compression, push.metrics, self.max_bytes())
            points, more = points_of(data, MAX_POINTS)
        except DecompressionBomb:
            return ErrorCode.TELEMETRY_TOO_LARGE
        except (CorruptBatch, InvalidOtlp):
            return ErrorCode.INVALID_RECORD
        self.cut += more
        self.series.add(push.instance_id, client.client_id, points)
        return ErrorCode.NONE

    # -- instances ---------------------------------------------------------------------------------

    def _instance(self, instance_id: bytes, client: Client) -> ClientInstance:
        self.expire(_LOOKED_AT)
        instance = self._instances.get(instance_id)
        if instance is None or instance.generation != self._generation:
            wanted = wanted_of(self._subscriptions, client.traits(instance_id))
            if instance is None:
                instance = ClientInstance(wanted, self._generation)
                self._instances[instance_id] = instance
                if len(self._instances) > MAX_INSTANCES:
                    self._forget(next(iter(self._instances)))
            else:
                instance.wanted, instance.generation = wanted, self._generation
        self._instances.move_to_end(instance_id)
        return instance

    def expire(self, at_most: int = MAX_INSTANCES) -> None:
        """Forget instances that were quiet for long; their series go with them."""
        now_ms = self._now_ms()
        for instance_id in list(islice(self._instances, at_most)):
            if self._instances[instance_id].is_over(now_ms):
                self._forget(instance_id)

    def _forget(self, instance_id: bytes) -> None:
        del self._instances[instance_id]
        self.series.forget(instance_id)
