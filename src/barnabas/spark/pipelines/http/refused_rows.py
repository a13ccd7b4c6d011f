"""What a server refused, as dead letters with Connect's headers."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.sync.producer import Producer

PREFIX = "__connect.errors."


class Refused(NamedTuple):
    """What was not taken, and why."""

    value: bytes
    reason: str
    key: bytes | None = None


def send_refused(
    cluster: ClusterAddress, topic: str, refused: Sequence[Refused], connector: str, error: str
) -> None:
    """Write them to a topic, and return when they are there."""
    if not refused:
        return
    with Producer(cluster.bootstrap_servers, security=cluster.security) as producer:
        for each in refused:
            headers = [
                (f"{PREFIX}connector.name", connector.encode()),
                (f"{PREFIX}stage", b"TASK_PUT"),
                (f"{PREFIX}exception.class.name", error.encode()),
                (f"{PREFIX}exception.message", each.reason.encode()),
            ]
            producer.send(topic, each.value, each.key, headers=headers)
        producer.flush()
