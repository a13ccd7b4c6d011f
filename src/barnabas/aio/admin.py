"""Administration of a cluster: topics, settings, groups and offsets."""

from collections.abc import Iterable, Mapping

from barnabas.aio.waiting import Client
from barnabas.client.admin.admin_core import AdminCore
from barnabas.client.admin.brokers import ClusterDescription
from barnabas.client.admin.configs import ConfigEntry, ConfigValue, resource_of, settings_of
from barnabas.client.admin.descriptions import GroupDescription, TopicDescription
from barnabas.client.admin.groups import GroupListing
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import Isolation, isolation_level
from barnabas.client.offsets.offset_spec import Where, timestamp_of


class Admin(Client):
    """Administers a cluster.

        async with barnabas.aio.Admin("localhost:9092") as admin:
            await admin.create_topic("orders", partitions=3)
            for name, topic in (await admin.topics()).items():
                print(name, len(topic.partitions))

    Many threads and tasks may share an Admin. It connects when it is first used, and raises
    `BrokerUnreachable` at once if no broker answers; to wait for a broker that is still starting,
    retry. Later outages are waited for, up to 30 seconds.

    `bootstrap_servers` is HOST:PORT of one or more brokers, separated by commas or as a list.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        client_id: str = "barnabas",
    ) -> None:
        self._core = AdminCore(
            bootstrap_servers, client_id=client_id, request_timeout_ms=request_timeout_ms
        )
        super().__init__(self._core)

    async def cluster(self) -> ClusterDescription:
        """The brokers of the cluster, including those that are down, and its controller."""
        return await self._wait(self._core.cluster())

    # -- topics --------------------------------------------------------------------------------

    async def topics(self, *, internal: bool = False) -> dict[str, TopicDescription]:
        """All topics by name; with `internal`, including internal topics."""
        return await self._wait(self._core.topics(internal=internal))

    async def describe_topic(self, name: str) -> TopicDescription:
        """One topic. Raises `UnknownTopic` if it does not exist."""
        return await self._wait(self._core.describe_topic(name))

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, ConfigValue] | None = None,
        exist_ok: bool = False,
    ) -> bool:
        """Create a topic that can be used at once; None leaves a number to the broker.

        Raises `TopicExists` if the topic exists; with `exist_ok` it stays unchanged, and False is
        returned.
        """
        settings = settings_of(configs or {})
        return await self._wait(
            self._core.create_topic(
                name, partitions, replication_factor, settings, exist_ok=exist_ok
            )
        )

    async def delete_topic(self, *names: str, missing_ok: bool = False) -> None:
        """Delete topics with all their records."""
        await self._wait(self._core.delete_topics(names, missing_ok=missing_ok))

    async def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to `total` partitions.

        Many keys then go to other partitions than before, so only records sent afterwards are in
        order by key.
        """
        await self._wait(self._core.add_partitions(name, total))

    # -- configurations ------------------------------------------------------------------------

    async def configs(
        self, *, topic: str | None = None, broker: int | None = None
    ) -> dict[str, ConfigEntry]:
        """The settings of a topic or a broker by name, each with its value and source."""
        return await self._wait(self._core.configs(*resource_of(topic, broker)))

    async def set_configs(
        self,
        settings: Mapping[str, ConfigValue | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
    ) -> None:
        """Change settings of a topic or a broker; None restores the default.

        await admin.set_configs({"retention.ms": 60_000}, topic="orders")
        """
        kind, name = resource_of(topic, broker)
        await self._wait(self._core.set_configs(kind, name, settings_of(settings)))

    # -- offsets -------------------------------------------------------------------------------

    async def offsets(
        self, topic: str, at: Where = "latest", *, isolation: Isolation = "read_uncommitted"
    ) -> dict[TopicPartition, int]:
        """The offset of the beginning, the end, or a time in each partition.

        "latest" is the offset of the next record. For a datetime it is the offset of the first
        record that is not older, or the end if there is none.
        """
        level = isolation_level(isolation)
        return await self._wait(self._core.offsets(topic, timestamp_of(at, "at"), level))

    async def delete_records(
        self, before: str | Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset in each partition; returns where the logs now begin.

        The name of a topic stands for all its records.
        """
        if isinstance(before, str):
            return await self._wait(self._core.delete_all_records(before))
        return await self._wait(self._core.delete_records(before))

    # -- groups --------------------------------------------------------------------------------

    async def groups(self) -> dict[str, GroupListing]:
        """All groups by their ids."""
        return await self._wait(self._core.groups())

    async def describe_group(self, group: str) -> GroupDescription:
        """One group with its members, their partitions, committed offsets and lag.

        Raises `UnknownGroup` if it does not exist.
        """
        return await self._wait(self._core.describe_group(group))

    async def delete_group(self, *groups: str, missing_ok: bool = False) -> None:
        """Delete groups and their committed offsets. Raises `GroupNotEmpty` if one has members."""
        await self._wait(self._core.delete_groups(groups, missing_ok=missing_ok))

    async def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        """The committed offsets of a group: the next offset to read, for each partition."""
        return await self._wait(self._core.group_offsets(group))

    async def set_group_offsets(
        self,
        group: str,
        to: Mapping[TopicPartition, int] | Where,
        *,
        topics: str | Iterable[str] | None = None,
    ) -> dict[TopicPartition, int]:
        """Move the committed offsets of a group; returns the new ones.

            await admin.set_group_offsets("billing", {TopicPartition("orders", 0): 42})
            await admin.set_group_offsets("billing", "earliest", topics="orders")
            await admin.set_group_offsets("billing", datetime.now(UTC) - timedelta(hours=1))

        Without `topics`, all topics with committed offsets are moved. Raises `GroupNotEmpty` while
        the group has members (stop its consumers first), and `OffsetOutOfRange` for an offset after
        the end of the log.
        """
        if isinstance(to, Mapping):
            return await self._wait(self._core.set_group_offsets(group, to))
        names = [topics] if isinstance(topics, str) else topics
        return await self._wait(self._core.move_group(group, timestamp_of(to, "to"), names))
