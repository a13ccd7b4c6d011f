"""The pytest plugin: a cluster for the whole run, and a new topic for each test.

    def test_orders(barnabas_cluster, barnabas_topic):
        app = App(barnabas_cluster.bootstrap_servers, barnabas_topic)

    @pytest.mark.barnabas(nodes=3, partitions=6, faults=["kill", "pause"])
    def test_survives(barnabas_cluster, barnabas_topic, barnabas_fault):
        ...
        barnabas_fault()        # the leader of the topic's first partition is killed, or paused

A cluster is started when the first test needs it, shared by all tests with the same options,
repaired after a test that has injected faults, and stopped at the end of the run. Each worker of
pytest-xdist has its own clusters. The report of a failed test shows the logs of the nodes.

This module is loaded into every run of pytest where Barnabas is installed, so it imports nothing
else of Barnabas before a fixture is used.
"""

import re
import secrets
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.embedded.marker import FAULTS, ClusterOptions, MarkerError, Options, read_markers

if TYPE_CHECKING:
    from barnabas.embedded.cluster import Cluster

_LOG_LINES = 60
_LONGEST_NAME = 200
_MARKER = (
    "barnabas(nodes=1, network=False, secure=False, settings={}, partitions=1, "
    "replication_factor=None, configs={}, faults=[]): options of the fixtures barnabas_cluster, "
    f"barnabas_topic and barnabas_fault for this test; faults are {', '.join(FAULTS)}"
)


class _Clusters:
    """Those that run, one for each kind that was asked for."""

    def __init__(self) -> None:
        self._by_options: dict[ClusterOptions, Cluster] = {}
        self._give_back: Callable[[], None] | None = None
        self._logged: dict[tuple[Cluster, int], int] = {}
        """How much each node had logged before the test."""

    def get(self, options: ClusterOptions) -> "Cluster":
        from barnabas.embedded.cluster import Cluster
        from barnabas.embedded.launcher import Launcher

        if self._give_back is None:  # clusters of single tests start faster, too
            self._give_back = Launcher.borrow().give_back
        if options not in self._by_options:
            cluster = Cluster(
                options.nodes,
                network=options.network,
                settings=dict(options.settings),
                secure=options.secure,
            )
            cluster.start()
            self._by_options[options] = cluster
        return self._by_options[options]

    def begin(self) -> None:
        """A test begins."""
        self._logged = {
            (cluster, node): len(cluster.log_of(node))
            for cluster in self._by_options.values()
            for node in cluster.nodes
        }

    def logs(self, cluster: "Cluster") -> list[tuple[str, str]]:
        """What each node of it has logged since, the last lines."""
        found = []
        for node in cluster.nodes:
            lines = cluster.log_of(node)[self._logged.get((cluster, node), 0) :].splitlines()
            found.append((f"log of Barnabas node {node}", "\n".join(lines[-_LOG_LINES:])))
        return found

    def close(self) -> None:
        for cluster in self._by_options.values():
            cluster.close()
        self._by_options = {}
        if self._give_back is not None:
            self._give_back()


_CLUSTERS = pytest.StashKey[_Clusters]()


# -- hooks ---------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.stash[_CLUSTERS] = _Clusters()


def pytest_unconfigure(config: pytest.Config) -> None:
    clusters = config.stash.get(_CLUSTERS, None)
    if clusters is not None:
        clusters.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What a marker asks for becomes a parameter, so that fixtures of a wider scope follow it."""
    options = _options_of(metafunc.definition)
    if "barnabas_cluster" in metafunc.fixturenames and options.cluster != ClusterOptions():
        hidden = getattr(pytest, "HIDDEN_PARAM", str(options.cluster))  # since pytest 8.4
        chosen = pytest.param(options.cluster, id=hidden)
        metafunc.parametrize("barnabas_cluster", [chosen], indirect=True, scope="session")
    if "barnabas_fault" in metafunc.fixturenames and options.faults:
        metafunc.parametrize("barnabas_fault", options.faults, indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if "barnabas_cluster" in getattr(item, "fixturenames", ()):
        item.config.stash[_CLUSTERS].begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Undo the faults of the test. Its other fixtures are gone by then."""
    cluster = _cluster_of(item)
    yield
    if nextitem is not None and cluster is not None and cluster.is_hurt:
        cluster.repair()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    cluster = _cluster_of(item)
    if report.failed and cluster is not None:
        report.sections += item.config.stash[_CLUSTERS].logs(cluster)
    return report


def _cluster_of(item: pytest.Item) -> "Cluster | None":
    """The one that the test uses, if it does and it runs; perhaps a fixture of its project."""
    cluster = (getattr(item, "funcargs", None) or {}).get("barnabas_cluster")
    return cluster if getattr(cluster, "is_started", False) else None


def _options_of(node: pytest.Item | Any) -> Options:
    try:
        return read_markers([dict(mark.kwargs) for mark in _marks(node)])
    except MarkerError as error:
        pytest.fail(f"@pytest.mark.barnabas at {node.nodeid}: {error}", pytrace=False)


def _marks(node: pytest.Item | Any) -> list[pytest.Mark]:
    marks = list(node.iter_markers("barnabas"))
    for mark in marks:
        if mark.args:
            raise MarkerError(f"{mark.args[0]!r}: use keyword arguments, such as nodes=3")
    return marks


# -- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def barnabas_cluster(request: pytest.FixtureRequest) -> "Cluster":
    """A running `barnabas.Cluster`, shared by all tests with the same options."""
    options: ClusterOptions = getattr(request, "param", None) or ClusterOptions()
    return request.config.stash[_CLUSTERS].get(options)


@pytest.fixture
def barnabas_topic(request: pytest.FixtureRequest, barnabas_cluster: "Cluster") -> str:
    """The name of a new topic, which no other test uses."""
    options = _options_of(request.node)
    test = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:_LONGEST_NAME].strip("-")
    topic = f"{test}-{secrets.token_hex(4)}"
    barnabas_cluster.create_topic(
        topic,
        options.partitions,
        replication_factor=options.replication_factor,
        configs=dict(options.configs),
    )
    return topic


@pytest.fixture
def barnabas_fault(
    request: pytest.FixtureRequest, barnabas_cluster: "Cluster", barnabas_topic: str
) -> Callable[..., int]:
    """Call it to cause a fault at the leader of a partition of `barnabas_topic`, by default of 0.

    It returns that node. The test runs once for each of the marker's `faults`.
    """
    fault = getattr(request, "param", None)
    if fault is None:
        pytest.fail(
            "barnabas_fault needs a fault, such as @pytest.mark.barnabas(nodes=3, faults=['kill'])",
            pytrace=False,
        )

    def hurt_leader(partition: int = 0) -> int:
        leader = barnabas_cluster.leader_of(barnabas_topic, partition)
        getattr(barnabas_cluster, fault)(leader)
        return leader

    return hurt_leader
