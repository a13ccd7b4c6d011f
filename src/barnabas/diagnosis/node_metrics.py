"""What nodes of Barnabas tell beyond the Kafka protocol: their metrics, over HTTP.

By default a node serves them on its loopback address only, so from another machine nothing is
found there. What depends on them has to do without.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import time
from urllib.request import urlopen

from barnabas.web.loopback import is_loopback
from barnabas.wire.endpoint import Address

SETTING = "metrics.listeners"

_BEHIND_LISTENER = 10_000
_TIMEOUT_S = 3
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_TURN_ON = (
    f"set {SETTING}=0.0.0.0:9404 in its settings, restart it, and open that port to operators "
    "only: it has no password"
)
_WILDCARDS = ("", "*", "0.0.0.0", "::", "[::]")  # noqa: S104 - not bound

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class NodeMetrics:
    """One scrape. The node has answered between two moments of the local clock."""

    samples: Mapping[str, Mapping[Labels, float]]
    asked_s: float
    answered_s: float

    def value(self, name: str, **labels: str) -> float | None:
        """That of the sample with exactly these labels."""
        return self.samples.get(name, {}).get(frozenset(labels.items()))

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by its only label."""
        found = {}
        for labels, value in self.samples.get(name, {}).items():
            (*named,) = labels
            if len(named) == 1 and named[0][0] == label:
                found[named[0][1]] = value
        return found

    def label(self, name: str, label: str) -> str | None:
        """A label of the first sample of a metric that has it."""
        for labels in self.samples.get(name, {}):
            for key, value in labels:
                if key == label:
                    return value
        return None


def scrape_address(advertised: Address, setting: str | None) -> Address | None:
    """Where a node serves its metrics, by its own setting; None if it does not."""
    if setting == "":
        return None
    if setting is None:  # its default: on the node itself, at a port that follows from another
        port = advertised.port + _BEHIND_LISTENER
        return Address("127.0.0.1", port) if is_loopback(advertised.host) else None
    host, _, number = setting.removeprefix("http://").rpartition(":")
    if not number.isdigit() or number == "0":
        return None
    return Address(advertised.host if host in _WILDCARDS else host.strip("[]"), int(number))


def why_unreachable(setting: str | None, where: Address | None) -> str:
    """Why a scrape has failed, by the node's own setting, and what to do about it."""
    if setting == "":
        return f"metrics are turned off; {_TURN_ON}"
    if where is not None and not is_loopback(where.host):
        return (
            f"http://{where}/metrics does not answer; open that port to this machine in firewalls, "
            f"or set {SETTING} to an address that it reaches"
        )
    if where is not None and setting is None:  # it is on a loopback address itself
        return (
            f"http://{where}/metrics does not answer; if the node runs on this machine, its log "
            f"names the port that it took instead: set {SETTING}={where.host}:PORT to a free one"
        )
    if where is None and setting is not None:
        return f"{SETTING}={setting} has no fixed port; {_TURN_ON}"
    return f"metrics are served to the node's own machine only; {_TURN_ON}"


async def scrape(address: Address) -> NodeMetrics | None:
    """Ask a node; None if it does not answer, or answers something else."""
    return await asyncio.to_thread(_scrape, f"http://{address}/metrics")


async def scrape_all(addresses: Mapping[int, Address | None]) -> dict[int, NodeMetrics]:
    """Those of all nodes that answer."""
    known = {node: address for node, address in addresses.items() if address is not None}
    answers = await asyncio.gather(*map(scrape, known.values()))
    return {node: answer for node, answer in zip(known, answers, strict=True) if answer is not None}


def parse(lines: Iterable[str]) -> dict[str, dict[Labels, float]]:
    """Samples in the text format of Prometheus, by name and labels."""
    samples: dict[str, dict[Labels, float]] = {}
    for line in lines:
        found = _SAMPLE.match(line)
        if found is None:
            continue  # a comment
        name, labels, value = found.groups()
        samples.setdefault(name, {})[frozenset(_LABEL.findall(labels or ""))] = float(value)
    return samples


def _scrape(url: str) -> NodeMetrics | None:
    asked_s = time()
    try:
        with urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - always http
            text: str = answer.read().decode()
        return NodeMetrics(parse(text.splitlines()), asked_s, time())
    except (OSError, ValueError):
        return None
