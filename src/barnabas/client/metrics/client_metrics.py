"""The metrics of one client at one moment."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.metrics.exposition import Samples
from barnabas.metrics.metric import Kind, Metric


class ClientMetric(NamedTuple):
    """One that clients of a kind have."""

    client: str
    """producer or consumer."""
    group: str
    """As in Kafka, such as producer-metrics."""
    name: str
    meaning: str
    of_partition: bool = False

    @property
    def exposed(self) -> Metric:
        """As the JMX exporter names the same metric of Kafka's client."""
        words = f"kafka_{self.client}_{self.group}_{self.name}".replace("-", "_")
        kind = Kind.COUNTER if self.name.endswith("-total") else Kind.GAUGE
        labels = ("client_id", "topic", "partition") if self.of_partition else ("client_id",)
        return Metric(words, kind, self.meaning, labels)


class ClientMetrics(Mapping[str, float]):
    """Values by Kafka's names, such as `metrics["record-send-total"]`.

    `partitions` has those of single partitions, such as `records-lag`.
    """

    def __init__(
        self,
        client_id: str,
        values: Mapping[ClientMetric, float | None],
        partitions: Mapping[ClientMetric, Mapping[TopicPartition, int]] | None = None,
    ) -> None:
        self._client_id = client_id
        self._values = {each: value for each, value in values.items() if value is not None}
        self._by_name = {each.name: value for each, value in self._values.items()}
        self._of_partitions = partitions or {}
        self.partitions: dict[TopicPartition, dict[str, int]] = {}
        for each, found in self._of_partitions.items():
            for partition, value in found.items():
                self.partitions.setdefault(partition, {})[each.name] = value

    def __getitem__(self, name: str) -> float:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"ClientMetrics({self._by_name})"

    def prometheus(self, **labels: str) -> str:
        """All of them in the text format of Prometheus, with these labels besides `client_id`."""
        samples = Samples()
        known = {"client_id": self._client_id, **labels}
        for each, value in self._values.items():
            samples.add(each.exposed, value, **known)
        for each, found in self._of_partitions.items():
            exposed = each.exposed
            for (topic, partition), value in found.items():
                samples.add(exposed, value, **known, topic=topic, partition=partition)
        return b"".join(samples.encoded()).decode()
