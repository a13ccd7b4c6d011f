"""Cluster administration: topics, settings, groups, offsets, users, tokens, ACLs, quotas."""

from collections.abc import Iterable, Mapping

from barnabas.aio.waiting import Client
from barnabas.client.admin.acls import AclBinding
from barnabas.client.admin.admin_core import AdminCore
from barnabas.client.admin.brokers import ClusterDescription
from barnabas.client.admin.configs import ConfigEntry, ConfigValue, resource_of, settings_of
from barnabas.client.admin.delegation_tokens import DelegationToken
from barnabas.client.admin.descriptions import GroupDescription, TopicDescription
from barnabas.client.admin.groups import GroupListing
from barnabas.client.admin.quotas import QuotaDescription, QuotaEntity
from barnabas.client.admin.users import SCRAM_MECHANISMS, UserDescription
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.offsets.isolation import Isolation, isolation_level
from barnabas.client.offsets.offset_spec import Where, timestamp_of
from barnabas.security.sasl.scram_credential import DEFAULT_ITERATIONS


class Admin(Client):
    """Administers a cluster.

        async with barnabas.aio.Admin("localhost:9092") as admin:
            await admin.create_topic("orders", partitions=3)
            for name, topic in (await admin.topics()).items():
                print(name, len(topic.partitions))

    Many threads and tasks may share an Admin. It connects when it is first used, and raises
    `BrokerUnreachable` at once if no broker answers; to wait for a broker that is still starting,
    retry. During later outages it waits for up to 30 seconds.

    `bootstrap_servers` is HOST:PORT of one or more brokers, separated by commas or as a list.
    `security` holds Kafka's client settings for encryption and authentication, such as
    {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        client_id: str = "barnabas",
        security: Mapping[str, SecurityValue] | None = None,
    ) -> None:
        self._core = AdminCore(
            bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            security=security_settings(security),
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
        """Create a topic, ready for use when this returns; None uses the broker's default.

        Raises `TopicExists` if the topic exists. With `exist_ok`, it leaves the topic unchanged and
        returns False.
        """
        settings = settings_of(configs or {})
        return await self._wait(
            self._core.create_topic(
                name, partitions, replication_factor, settings, exist_ok=exist_ok
            )
        )

    async def delete_topic(self, *names: str, missing_ok: bool = False) -> None:
        """Delete topics and all their records."""
        await self._wait(self._core.delete_topics(names, missing_ok=missing_ok))

    async def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to `total` partitions.

        Many keys then map to a different partition, so only records sent afterwards are in order by
        key.
        """
        await self._wait(self._core.add_partitions(name, total))

    # -- configurations ------------------------------------------------------------------------

    async def configs(
        self, *, topic: str | None = None, broker: int | None = None, group: str | None = None
    ) -> dict[str, ConfigEntry]:
        """The settings of a topic, a broker or a group by name, each with its value and source."""
        return await self._wait(self._core.configs(*resource_of(topic, broker, group)))

    async def set_configs(
        self,
        settings: Mapping[str, ConfigValue | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
        group: str | None = None,
    ) -> None:
        """Change settings of a topic, a broker or a group; None restores the default.

        await admin.set_configs({"retention.ms": 60_000}, topic="orders")
        """
        kind, name = resource_of(topic, broker, group)
        await self._wait(self._core.set_configs(kind, name, settings_of(settings)))

    # -- offsets -------------------------------------------------------------------------------

    async def offsets(
        self, topic: str, at: Where = "latest", *, isolation: Isolation = "read_uncommitted"
    ) -> dict[TopicPartition, int]:
        """The offset of the beginning, the end, or a point in time, for each partition.

        "latest" is the offset of the next record. For a datetime it is the offset of the first
        record at or after it, or the end if there is none.
        """
        level = isolation_level(isolation)
        return await self._wait(self._core.offsets(topic, timestamp_of(at, "at"), level))

    async def delete_records(
        self, before: str | Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset in each partition; returns the new log start offsets.

        A topic name deletes all records of the topic.
        """
        if isinstance(before, str):
            return await self._wait(self._core.delete_all_records(before))
        return await self._wait(self._core.delete_records(before))

    # -- groups --------------------------------------------------------------------------------

    async def groups(self, *types: str) -> dict[str, GroupListing]:
        """All groups by id, or only those of some types: "classic", "consumer", "share"."""
        return await self._wait(self._core.groups(types))

    async def describe_group(self, group: str) -> GroupDescription:
        """One group of any type with its members, their partitions, committed offsets and lag.

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

    # -- users ---------------------------------------------------------------------------------

    async def users(self) -> dict[str, UserDescription]:
        """The SCRAM users by name, each with its mechanisms."""
        return await self._wait(self._core.users())

    async def set_password(
        self,
        user: str,
        password: str,
        *,
        mechanisms: Iterable[str] = SCRAM_MECHANISMS,
        iterations: int = DEFAULT_ITERATIONS,
    ) -> None:
        """Add a user, or change its password.

        The password is salted before it is sent. Open connections stay open.
        """
        await self._wait(self._core.set_password(user, password, mechanisms, iterations))

    async def delete_user(self, user: str, *, missing_ok: bool = False) -> None:
        """Remove a user. Its open connections stay open until they have to reauthenticate."""
        await self._wait(self._core.delete_user(user, missing_ok=missing_ok))

    # -- delegation tokens ---------------------------------------------------------------------

    async def create_delegation_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime_ms: int | None = None,
    ) -> DelegationToken:
        """Create a token to authenticate as this client's user, or as `owner`.

        `DelegationToken.client_settings()` returns the client settings for authentication.
        """
        return await self._wait(
            self._core.create_delegation_token(owner, renewers, max_lifetime_ms)
        )

    async def delegation_tokens(
        self, *, owners: Iterable[str] | None = None
    ) -> list[DelegationToken]:
        """The tokens that this client may see: all, or those that involve some users."""
        return await self._wait(self._core.delegation_tokens(owners))

    async def renew_delegation_token(self, hmac: bytes, *, period_ms: int | None = None) -> int:
        """Renew a token; returns its new expiry time in milliseconds since 1970."""
        return await self._wait(self._core.renew_delegation_token(hmac, period_ms))

    async def expire_delegation_token(self, hmac: bytes, *, after_ms: int | None = None) -> int:
        """Expire a token, now or after a time; returns its expiry time."""
        return await self._wait(self._core.expire_delegation_token(hmac, after_ms))

    # -- access rules --------------------------------------------------------------------------

    async def acls(self, *, user: str | None = None) -> list[AclBinding]:
        """The access rules (ACLs): all, or those for one user."""
        return await self._wait(self._core.acls(user))

    async def create_acls(self, acls: Iterable[AclBinding]) -> None:
        """Create access rules; existing ones stay unchanged."""
        await self._wait(self._core.create_acls(acls))

    async def delete_acls(self, acls: Iterable[AclBinding]) -> list[AclBinding]:
        """Delete access rules; returns the deleted ones."""
        return await self._wait(self._core.delete_acls(acls))

    # -- quotas --------------------------------------------------------------------------------

    async def quotas(self) -> list[QuotaDescription]:
        """All quotas, each with its entity and its limits."""
        return await self._wait(self._core.quotas())

    async def set_quotas(
        self,
        limits: Mapping[str, float | None],
        *,
        user: str | None = None,
        client_id: str | None = None,
        address: str | None = None,
    ) -> None:
        """Set limits such as `{"producer_byte_rate": 1_000_000}`; None removes one.

        They apply to a user, a client id, a client id of a user, or an address. `"<default>"`
        applies to all that have no specific quota.
        """
        entity = QuotaEntity(user, client_id, address)
        await self._wait(self._core.set_quotas(entity, limits))
