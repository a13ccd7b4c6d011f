"""What a node says over HTTP, read with Prometheus' own library."""

import re
import urllib.error
import urllib.request
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tests.support.broker import BrokerProcess

_ADDRESS = re.compile(r"metrics at http://(\S+)/metrics")
_TIMEOUT_S = 120


def metrics_address(broker: BrokerProcess) -> str:
    """HOST:PORT of the node, as its log says."""
    return _ADDRESS.findall(broker.log.read_text(errors="replace"))[-1]


def get(broker: BrokerProcess, path: str) -> tuple[int, str]:
    """Status and body."""
    url = f"http://{metrics_address(broker)}{path}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@dataclass(frozen=True)
class Scrape:
    """The samples of one scrape."""

    families: dict[str, str]
    """The type of each metric."""
    samples: list[tuple[str, dict[str, str], float]]

    def value(self, name: str, **labels: str) -> float | None:
        """That of the one sample with exactly these labels."""
        for sample, its_labels, value in self.samples:
            if sample == name and its_labels == labels:
                return value
        return None

    def total(self, name: str, **labels: str) -> float:
        """The sum of all samples with these labels, and maybe others."""
        return sum(
            value
            for sample, its_labels, value in self.samples
            if sample == name and labels.items() <= its_labels.items()
        )


def scrape(broker: BrokerProcess) -> Scrape:
    status, text = get(broker, "/metrics")
    assert status == 200, text
    families = {}
    samples = []
    for family in text_string_to_metric_families(text):
        # The library takes `_total` off the names of counters.
        name = f"{family.name}_total" if family.type == "counter" else family.name
        families[name] = family.type
        samples += [(each.name, dict(each.labels), each.value) for each in family.samples]
    return Scrape(families, samples)
