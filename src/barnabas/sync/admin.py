"""Cluster administration: topics, settings, groups, offsets, users, tokens, ACLs, quotas."""

# Made from ../aio/admin.py by `make sync`: change it there.

from collections.abc import Iterable, Mapping

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
from barnabas.sync.waiting import Client


class Admin(Client):
    """Administers a cluster.

        with barnabas.Admin("localhost:9092") as admin:
            admin.create_topic("orders", partitions=3)
            for name, topic in admin.topics().items():
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

    def cluster(self) -> ClusterDescription:
        """The brokers of the cluster, including those that are down, and its controller."""
        return self._wait(self._core.cluster())

    # -- topics --------------------------------------------------------------------------------

    def topics(self, *, internal: bool = False) -> dict[str, TopicDescription]:
        """All topics by name; with `internal`, including internal topics."""
        return self._wait(self._core.topics(internal=internal))

    def describe_topic(self, name: str) -> TopicDescription:
        """One topic. Raises `UnknownTopic` if it does not exist."""
        return self._wait(self._core.describe_topic(name))

    def create_topic(
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
        return self._wait(
            self._core.create_topic(
                name, partitions, replication_factor, settings, exist_ok=exist_ok
            )
        )

    def delete_topic(self, *names: str, missing_ok: bool = False) -> None:
        """Delete topics and all their records."""
        self._wait(self._core.delete_topics(names, missing_ok=missing_ok))

    def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to `total` partitions.

        Many keys then map to a different partition, so only records sent afterwards are in order by
        key.
        """
        self._wait(self._core.add_partitions(name, total))

    # -- configurations ------------------------------------------------------------------------

    def configs(
        self, *, topic: str | None = None, broker: int | None = None, group: str | None = None
    ) -> dict[str, ConfigEntry]:
        """The settings of a topic, a broker or a group by name, each with its value and source."""
        return self._wait(self._core.configs(*resource_of(topic, broker, group)))

    def set_configs(
        self,
        settings: Mapping[str, ConfigValue | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
        group: str | None = None,
    ) -> None:
        """Change settings of a topic, a broker or a group; None restores the default.

        admin.set_configs({"retention.ms": 60_000}, topic="orders")
        """
        kind, name = resource_of(topic, broker, group)
        self._wait(self._core.set_configs(kind, name, settings_of(settings)))

    # -- offsets -------------------------------------------------------------------------------

    def offsets(
        self, topic: str, at: Where = "latest", *, isolation: Isolation = "read_uncommitted"
    ) -> dict[TopicPartition, int]:
        """The offset of the beginning, the end, or a point in time, for each partition.

        "latest" is the offset of the next record. For a datetime it is the offset of the first
        record at or after it, or the end if there is none.
        """
        level = isolation_level(isolation)
        return self._wait(self._core.offsets(topic, timestamp_of(at, "at"), level))

    def delete_records(
        self, before: str | Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset in each partition; returns the new log start offsets.

        A topic name deletes all records of the topic.
        """
        if isinstance(before, str):
            return self._wait(self._core.delete_all_records(before))
        return self._wait(self._core.delete_records(before))

    # -- groups --------------------------------------------------------------------------------

    def groups(self, *types: str) -> dict[str, GroupListing]:
        """All groups by id, or only those of some types: "classic", "consumer", "share"."""
        return self._wait(self._core.groups(types))

    def describe_group(self, group: str) -> GroupDescription:
        """One group of any type with its members, their partitions, committed offsets and lag.

        Raises `UnknownGroup` if it does not exist.
        """
        return self._wait(self._core.describe_group(group))

    def delete_group(self, *groups: str, missing_ok: bool = False) -> None:
        """Delete groups and their committed offsets. Raises `GroupNotEmpty` if one has members."""
        self._wait(self._core.delete_groups(groups, missing_ok=missing_ok))

    def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        """The committed offsets of a group: the next offset to read, for each partition."""
        return self._wait(self._core.group_offsets(group))

    def set_group_offsets(
        self,
        group: str,
        to: Mapping[TopicPartition, int] | Where,
        *,
        topics: str | Iterable[str] | None = None,
    ) -> dict[TopicPartition, int]:
        """Move the committed offsets of a group; returns the new ones.

            admin.set_group_offsets("billing", {TopicPartition("orders", 0): 42})
            admin.set_group_offsets("billing", "earliest", topics="orders")
            admin.set_group_offsets("billing", datetime.now(UTC) - timedelta(hours=1))

        Without `topics`, all topics with committed offsets are moved. Raises `GroupNotEmpty` while
        the group has members (stop its consumers first), and `OffsetOutOfRange` for an offset after
        the end of the log.
        """
        if isinstance(to, Mapping):
            return self._wait(self._core.set_group_offsets(group, to))
        names = [topics] if isinstance(topics, str) else topics
        return self._wait(self._core.move_group(group, timestamp_of(to, "to"), names))

    # -- users ---------------------------------------------------------------------------------

    def users(self) -> dict[str, UserDescription]:
        """The SCRAM users by name, each with its mechanisms."""
        return self._wait(self._core.users())

    def set_password(
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
        self._wait(self._core.set_password(user, password, mechanisms, iterations))

    def delete_user(self, user: str, *, missing_ok: bool = False) -> None:
        """Remove a user. Its open connections stay open until they have to reauthenticate."""
        self._wait(self._core.delete_user(user, missing_ok=missing_ok))

    # -- delegation tokens ---------------------------------------------------------------------

    def create_delegation_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime_ms: int | None = None,
    ) -> DelegationToken:
        """Create a token to authenticate as this client's user, or as `owner`.

        `DelegationToken.client_settings()` returns the client settings for authentication.
        """
        return self._wait(self._core.create_delegation_token(owner, renewers, max_lifetime_ms))

    def delegation_tokens(self, *, owners: Iterable[str] | None = None) -> list[DelegationToken]:
        """The tokens that this client may see: all, or those that involve some users."""
        return self._wait(self._core.delegation_tokens(owners))

    def renew_delegation_token(self, hmac: bytes, *, period_ms: int | None = None) -> int:
        """Renew a token; returns its new expiry time in milliseconds since 1970."""
        return self._wait(self._core.renew_delegation_token(hmac, period_ms))

    def expire_delegation_token(self, hmac: bytes, *, after_ms: int | None = None) -> int:
        """Expire a token, now or after a time; returns its expiry time."""
        return self._wait(self._core.expire_delegation_token(hmac, after_ms))

    # -- access rules --------------------------------------------------------------------------

    def acls(self, *, user: str | None = None) -> list[AclBinding]:
        """The access rules (ACLs): all, or those for one user."""
        return self._wait(self._core.acls(user))

    def create_acls(self, acls: Iterable[AclBinding]) -> None:
        """Create access rules; existing ones stay unchanged."""
        self._wait(self._core.create_acls(acls))

    def delete_acls(self, acls: Iterable[AclBinding]) -> list[AclBinding]:
        """Delete access rules; returns the deleted ones."""
        return self._wait(self._core.delete_acls(acls))

    # -- quotas --------------------------------------------------------------------------------

    def quotas(self) -> list[QuotaDescription]:
        """All quotas, each with its entity and its limits."""
        return self._wait(self._core.quotas())

    def set_quotas(
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
        self._wait(self._core.set_quotas(entity, limits))
