"""Where a cluster is, and how clients encrypt their connections to it and sign in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.client.connect.security_settings import SECURITY_SETTINGS, security_settings
from barnabas.spark.cluster.kafka_settings import PREFIX

_SERVERS = f"{PREFIX}bootstrap.servers"
_OF_A_CLUSTER = frozenset((_SERVERS, *(f"{PREFIX}{name}" for name in SECURITY_SETTINGS)))


@dataclass(frozen=True)
class ClusterAddress:
    """The cluster of pipelines. Its settings are not shown: passwords are among them."""

    bootstrap_servers: str
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By Kafka's names, as `Consumer(security=...)` takes them."""

    def __post_init__(self) -> None:
        """Raises `InvalidArgument` if the settings are wrong."""
        security_settings(self.security)

    def options(self, given: Mapping[str, str]) -> dict[str, str]:
        """Options of the connector, with the cluster that they are for.

        Options that name a cluster, or how to connect to it, are used as they are: a password of
        this cluster is nothing for another one, and half of one sign-in does not go with half of
        another.
        """
        own = {name.lower() for name in given} & _OF_A_CLUSTER
        if _SERVERS in own:
            return dict(given)
        secured = {} if own else {f"{PREFIX}{name}": text for name, text in self.security.items()}
        return {_SERVERS: self.bootstrap_servers, **secured, **given}


NO_CLUSTER = ClusterAddress("")
"""Where nothing is connected to, as in tests of pipelines."""
