"""A flow: from which cluster to which, what of it, and how.

A flow has no identity but the names of its clusters: processes with the same names share its
partitions, and go on where others have stopped.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.security_settings import SecuritySettings, security_settings
from barnabas.coordination.mirror_groups import MIRROR_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.mirror.named_client import NamedClusterClient

Start: TypeAlias = Literal["earliest", "latest"]

DEFAULT_EXCLUDED = (r"mm2.*\.internal", r".*[\-\.]internal", r".*\.replica", "__.*")
"""Topics that do not flow unless other exclusions are given: those of Mirror Maker 2."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_CLIENT_ID = "barnabas-mirror"


class Names(StrEnum):
    """How topics are named in the target."""

    PREFIX = "prefix"
    """`orders` of cluster A becomes `A.orders`: Mirror Maker's DefaultReplicationPolicy."""
    IDENTITY = "identity"
    """Names are kept: Mirror Maker's IdentityReplicationPolicy."""


@dataclass(frozen=True)
class ClusterEnd:
    """A cluster at one end of a flow."""

    name: str
    """Its alias: the prefix of its topics elsewhere, and what provenance headers say."""
    bootstrap_servers: str
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Encryption and sign-in, by Kafka's names of settings."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidArgument(
                f"{self.name!r} can't name a cluster: use letters, digits, - and _, as names of "
                "clusters become part of names of topics"
            )
        if not self.bootstrap_servers:
            raise InvalidArgument(f"cluster {self.name} has no bootstrap servers")
        security_settings(self.security)

    @property
    def security_settings(self) -> SecuritySettings:
        return security_settings(self.security)

    def client(self) -> ClusterClient:
        """A client, for one event loop; use it as an async context manager."""
        return NamedClusterClient(
            self.name,
            self.bootstrap_servers,
            client_id=_CLIENT_ID,
            security=self.security_settings,
        )


@dataclass(frozen=True)
class Flow:
    """Everything that describes a flow."""

    source: ClusterEnd
    target: ClusterEnd
    topics: tuple[str, ...] = (".*",)
    """Names or regular expressions, of whole names."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDED
    names: Names = Names.PREFIX
    separator: str = "."
    separates_internal: bool = True
    """Whether names of internal topics have the separator too, or always dots."""
    provenance: bool = False
    """Whether records say in a header which clusters they have passed, and those that have passed
    the target stay away: for flows in both directions that keep names. Records are then encoded
    again, one by one; otherwise batches are copied as they are."""
    start: Start = "earliest"
    """Where a partition begins that was never copied."""
    replication_factor: int | None = None
    """Of new topics. None: that of the target's brokers."""
    sync_configs: bool = True
    exclude_configs: tuple[str, ...] = ()
    """Settings of topics that are not copied, in addition to those that never are."""
    sync_deletes: bool = False
    sync_acls: bool = False
    """Whether ACLs of topics that flow are copied."""
    sync_quotas: bool = False
    max_bytes_per_second: int | None = None
    compression: str | None = None
    """The codec of batches that are encoded again, and of uncompressed ones; None: as they are."""
    refresh_s: float = 10.0
    """How often topics of the source are looked at."""
    replicate_heartbeats: bool = True
    """Whether heartbeats flow even if `topics` does not name them."""
    clusters: tuple[str, ...] = ()
    """Names of other clusters, whose heartbeats may come by way of the source."""

    def __post_init__(self) -> None:
        if self.source.name == self.target.name:
            raise InvalidArgument(
                f"both clusters are named {self.source.name}: a flow needs two names"
            )
        for pattern in (*self.topics, *self.exclude):
            try:
                re.compile(pattern)
            except re.error as error:
                raise InvalidArgument(f"topics {pattern!r}: {error}") from error

    @property
    def name(self) -> str:
        """As Mirror Maker writes it: `A->B`."""
        return f"{self.source.name}->{self.target.name}"

    @property
    def internal_separator(self) -> str:
        """Between the parts of names of internal topics."""
        return self.separator if self.separates_internal else "."

    @property
    def group_id(self) -> str:
        """The group of the target whose committed offsets are the positions in the source."""
        return f"{MIRROR_PREFIX}{self.name}"

    @property
    def members_group_id(self) -> str:
        """The group of the target whose members are the processes of the flow."""
        return f"{self.group_id}.members"

    @property
    def transactional_id_prefix(self) -> str:
        return f"{self.group_id}."

    def transactional_id(self, partition: TopicPartition) -> str:
        """Under which a partition of the target is written: a later writer fences earlier ones."""
        return f"{self.transactional_id_prefix}{partition}"
