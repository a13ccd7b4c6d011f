"""The plugin in runs of pytest of its own, as it is found where Barnabas is installed."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.wait import LIMIT_S

Run = Callable[..., "Outcome"]


class Outcome:
    """What such a run has printed, and how each test ended."""

    def __init__(self, done: "subprocess.CompletedProcess[str]") -> None:
        self.text = done.stdout + done.stderr
        found = re.findall(r"^(?:\[gw\d\].*?)?(PASSED|FAILED|ERROR) (\S+)", self.text, re.MULTILINE)
        self.tests = {name.partition("::")[2]: outcome.lower() for outcome, name in found}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(test: str, *arguments: str, conftest: str = "") -> Outcome:
        (tmp_path / "test_app.py").write_text("import os\nimport pytest\n" + test)
        (tmp_path / "conftest.py").write_text("import barnabas\nimport pytest\n" + conftest)
        command = [sys.executable, "-m", "pytest", "-rA", "--strict-markers", *arguments]
        outside = ("PYTEST_", "BARNABAS_")
        environment = {n: v for n, v in os.environ.items() if not n.startswith(outside)}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        return Outcome(done)

    return run


_SHARING = """
seen = []

def test_first(barnabas_cluster, barnabas_topic):
    seen.append((barnabas_cluster, barnabas_topic))
    assert len(barnabas_cluster.partitions_of(barnabas_topic)) == 1

@pytest.mark.parametrize("case", ["a/b c", "ü"])
def test_same_cluster_and_another_topic(barnabas_cluster, barnabas_topic, case):
    assert barnabas_cluster is seen[0][0]
    assert barnabas_topic not in [topic for _, topic in seen]
    seen.append((barnabas_cluster, barnabas_topic))

@pytest.mark.barnabas(nodes=2)
class TestOfTwo:
    @pytest.mark.barnabas(partitions=3, replication_factor=1, configs={"retention.ms": 1})
    def test_topic(self, app, barnabas_cluster, barnabas_topic):
        assert app == barnabas_cluster.bootstrap_servers
        assert len(barnabas_cluster.nodes) == 2
        states = barnabas_cluster.partitions_of(barnabas_topic)
        assert [len(state.replicas) for state in states.values()] == [1, 1, 1]

    def test_of_wider_scope(self, app, barnabas_cluster):
        assert app.count(",") == 1

def test_back_again(app, barnabas_cluster):
    assert barnabas_cluster is seen[0][0]
    assert app == barnabas_cluster.bootstrap_servers

@pytest.mark.barnabas(settings={"num.partitions": 4})
def test_of_its_own(barnabas_cluster):
    assert barnabas_cluster is not seen[0][0]
    barnabas_cluster.create_topic("t", -1)
    assert len(barnabas_cluster.partitions_of("t")) == 4

@pytest.mark.barnabas(nodes=3)
def test_that_needs_none():
    pass
"""

_APP = """
@pytest.fixture(scope="session")
def app(barnabas_cluster):
    return barnabas_cluster.bootstrap_servers
"""


def test_clusters_are_shared_by_tests_that_ask_for_the_same(run: Run) -> None:
    outcome = run(_SHARING, conftest=_APP)
    assert set(outcome.tests.values()) == {"passed"}, outcome.text
    assert len(outcome.tests) == 8
    assert "TestOfTwo::test_topic" in outcome.tests, "its name is as it was written"


_FAULTS = """
@pytest.mark.barnabas(nodes=3, faults=["kill", "isolate"])
def test_leader(barnabas_cluster, barnabas_topic, barnabas_fault):
    assert not barnabas_cluster.is_hurt
    hurt = barnabas_fault()
    assert barnabas_cluster.is_hurt
    assert barnabas_cluster.leader_of(barnabas_topic) != hurt
    barnabas_cluster.create_topic("made-by-" + barnabas_topic, replication_factor=2)

@pytest.mark.barnabas(nodes=3, network=True)
def test_all_is_well_again(barnabas_cluster):
    assert not barnabas_cluster.is_hurt

def test_that_fails(barnabas_cluster, barnabas_topic):
    barnabas_cluster.restart(1)
    assert barnabas_topic == "that"

def test_after_it(barnabas_cluster):
    assert False

def test_which_fault(barnabas_fault):
    pass
"""


def test_a_cluster_is_repaired_and_its_log_shown(run: Run) -> None:
    outcome = run(_FAULTS)
    assert outcome.tests == {
        "test_leader[kill]": "passed",
        "test_leader[isolate]": "passed",
        "test_all_is_well_again": "passed",
        "test_that_fails": "failed",
        "test_after_it": "failed",
        "test_which_fault": "error",
    }, outcome.text
    log = "log of Barnabas node 1 -"
    first, second, rest = re.split(
        r"^_+ (?:test_that_fails|test_after_it) _+$", outcome.text, flags=re.MULTILINE
    )
    assert log not in first.partition("test_which_fault")[0]
    assert log in second
    assert "Barnabas is stopping" in second
    assert "is ready on" not in rest, "that was before this test"
    assert "barnabas_fault needs a fault" in first


def test_what_a_marker_can_not_say(run: Run) -> None:
    outcome = run(
        """
@pytest.mark.barnabas(node=3)
def test_option(barnabas_cluster): pass
""",
    )
    assert "test_app.py::test_option: unknown option 'node'" in outcome.text
    outcome = run("@pytest.mark.barnabas(3)\ndef test_number(barnabas_cluster): pass\n")
    assert "3: use keyword arguments, such as nodes=3" in outcome.text


@pytest.mark.long
def test_each_worker_of_xdist_has_its_own(run: Run) -> None:
    test = """
@pytest.mark.parametrize("n", range(6))
def test_where(barnabas_cluster, barnabas_topic, n):
    print("at", barnabas_cluster.bootstrap_servers)
"""
    outcome = run(test, "--numprocesses", "2")
    assert len(outcome.tests) == 6, outcome.text
    assert set(outcome.tests.values()) == {"passed"}
    assert len(set(re.findall(r"^at (\S+)", outcome.text, re.MULTILINE))) == 2


@pytest.mark.long
def test_a_project_may_have_a_cluster_of_its_own(run: Run) -> None:
    conftest = """
@pytest.fixture(scope="session")
def barnabas_cluster():
    with barnabas.Cluster(2) as cluster:
        yield cluster
"""
    test = """
def test_that_fails(barnabas_cluster, barnabas_topic):
    assert barnabas_cluster.nodes == (1, 2)
    barnabas_cluster.kill(2)
    assert False

def test_repaired(barnabas_cluster, barnabas_topic):
    assert barnabas_cluster.running == (1, 2)
"""
    outcome = run(test, conftest=conftest)
    assert outcome.tests == {"test_that_fails": "failed", "test_repaired": "passed"}, outcome.text
    assert "log of Barnabas node 2" in outcome.text


def test_it_costs_nothing_where_it_is_not_used() -> None:
    code = (
        "import barnabas.embedded.pytest_plugin, sys;"
        "print(*sorted(name for name in sys.modules if name.startswith('barnabas.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "barnabas.embedded",
        "barnabas.embedded.marker",
        "barnabas.embedded.pytest_plugin",
    ]
