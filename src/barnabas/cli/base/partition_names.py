"""Partitions as people write them: TOPIC for all of a topic, TOPIC:N,N for some."""

from collections.abc import Iterable

from barnabas.cli.base.command import UsageError
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition


async def named_partitions(
    cluster: ClusterClient, names: Iterable[str], option: str = ""
) -> list[TopicPartition]:
    """Read TOPIC or TOPIC:N,N for each; `option` stands before what is wrong in a complaint."""
    partitions = []
    for text in names:
        name, separator, numbers = text.partition(":")
        count = len((await cluster.topics([name]))[name].partitions)
        if not separator:
            partitions += [TopicPartition(name, each) for each in range(count)]
            continue
        for number in numbers.split(","):
            if not number.isdecimal() or int(number) >= count:
                raise UsageError(
                    f"{option}{text}: there is no partition {number!r}; {name} has 0 to {count - 1}"
                )
            partitions.append(TopicPartition(name, int(number)))
    return partitions
