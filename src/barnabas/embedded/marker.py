"""What `@pytest.mark.barnabas(...)` says, checked. Markers of a class or module hold for each test
in it, and are overruled one option at a time by the test's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FAULTS = ("kill", "stop", "restart", "pause", "isolate", "fill_disk")

Settings = tuple[tuple[str, str | int | float | bool], ...]


class MarkerError(ValueError):
    """It asks for what there is not; the text names what there is."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Tests that ask for the same share a cluster."""

    nodes: int = 1
    network: bool = False
    settings: Settings = ()
    secure: bool = False

    def __str__(self) -> str:
        """For the name of a test."""
        words = [f"nodes={self.nodes}"] + ["network"] * self.network + ["secure"] * self.secure
        return ",".join(words + [f"{name}={value}" for name, value in self.settings])


@dataclass(frozen=True, slots=True)
class Options:
    cluster: ClusterOptions = ClusterOptions()
    partitions: int = 1
    replication_factor: int | None = None
    configs: Settings = ()
    faults: tuple[str, ...] = ()


_NAMES = (
    "nodes",
    "network",
    "secure",
    "settings",
    "partitions",
    "replication_factor",
    "configs",
    "faults",
)


def read_markers(closest_first: Sequence[Mapping[str, Any]]) -> Options:
    """Raises `MarkerError`."""
    said: dict[str, Any] = {}
    for options in reversed(closest_first):
        for name in options:
            if name not in _NAMES:
                raise MarkerError(f"unknown option {name!r}; use {', '.join(_NAMES)}")
        said |= options
    faults = _faults(said.get("faults", ()))
    nodes = said.get("nodes", 1)
    if not isinstance(nodes, int) or nodes < 1:
        raise MarkerError(f"nodes={nodes!r}: expected a number, 1 or more")
    cluster = ClusterOptions(
        nodes,
        bool(said.get("network", False)) or "isolate" in faults,
        _settings("settings", said.get("settings", {})),
        bool(said.get("secure", False)),
    )
    return Options(
        cluster,
        said.get("partitions", 1),
        said.get("replication_factor"),
        _settings("configs", said.get("configs", {})),
        faults,
    )


def _faults(faults: Any) -> tuple[str, ...]:
    if isinstance(faults, str):
        faults = (faults,)
    for fault in faults:
        if fault not in FAULTS:
            raise MarkerError(f"unknown fault {fault!r}; use {', '.join(FAULTS)}")
    return tuple(faults)


def _settings(name: str, settings: Any) -> Settings:
    if not isinstance(settings, Mapping):
        raise MarkerError(f"{name}={settings!r}: expected a dict, such as {{'name': 'value'}}")
    return tuple(sorted(settings.items()))
