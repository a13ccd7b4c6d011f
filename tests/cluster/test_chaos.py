"""All faults together, in an order that a seed decides, on five nodes.

    make chaos MINUTES=10 SEED=7

The test suite runs a short one, without transactions. What fails is not repeatable to the letter,
since processes and the network are real; the seed repeats which fault comes when.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.cluster import faults
from tests.cluster.conftest import SETTINGS, TOPIC, hurt, mount_disks
from tests.cluster.exactly_once import EXACT, STATE, exactly_once
from tests.cluster.pipelines import SOURCE, Pipelines
from tests.cluster.workload import Workload
from tests.foreign_clients import aio
from tests.support.cluster import ClusterProcesses, NodeProcess, SmallDisk
from tests.support.network import Network

ASKED_FOR = "BARNABAS_CHAOS_MINUTES" in os.environ
MINUTES = float(os.environ.get("BARNABAS_CHAOS_MINUTES", "0.5"))
SEED = int(os.environ.get("BARNABAS_CHAOS_SEED", "1"))


class Chaos:
    """Picks a victim and a fault, holds it for a while, mends it, and waits until all is well."""

    def __init__(
        self,
        cluster: ClusterProcesses,
        disks: dict[int, SmallDisk],
        seed: int,
        topics: Sequence[str] = (TOPIC,),
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._disks = disks
        self._random = Random(seed)
        self._began = time.monotonic()
        self.journal: list[str] = []

    def run(self, workload: Workload | Pipelines, minutes: float) -> None:
        # Each fault once, in random order, before any comes again.
        kinds = [
            self._kill,
            self._kill_all,
            self._freeze,
            self._cut_both_ways,
            self._cut_from_clients_too,
            self._cut_not_heard,
            self._cut_not_hearing,
            self._cut_between_two,
            self._fill,
            self._wipe,
            self._lose_a_directory,
            self._shorten,
            self._rot,
            self._roll,
        ]
        ends = time.monotonic() + 60 * minutes
        left: list[Callable[[NodeProcess], contextlib.AbstractContextManager[None]]] = []
        while time.monotonic() < ends:
            if not left:
                left = self._random.sample(kinds, len(kinds))
            fault, victim = left.pop(), self._victim()
            self._note(f"{fault.__name__.strip('_')} of node {victim.node_id}")
            with fault(victim):
                time.sleep(self._random.uniform(0.5, 5))
            self._note("mended")
            self._cluster.start()
            workload.wait_for_progress(60)
            self._cluster.wait_until_whole()

    def _note(self, text: str) -> None:
        self.journal.append(f"{time.monotonic() - self._began:.1f} s: {text}")
        print(self.journal[-1], flush=True)

    def _victim(self) -> NodeProcess:
        """A leader, the controller, or anybody."""
        kind = self._random.randrange(3)
        if kind == 0:
            topic = self._random.choice(self._topics)
            return self._cluster.leader_of(topic, self._random.randrange(3))
        if kind == 1:
            return self._cluster.controller()
        return self._random.choice(list(self._cluster.nodes.values()))

    # -- faults ----------------------------------------------------------------------------------

    def _kill(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.killed(self._cluster, victim)

    def _kill_all(self, _victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.killed(self._cluster, *self._cluster.nodes.values())

    def _freeze(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.frozen(victim)

    def _cut_both_ways(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.cut_off(self._cluster, victim)

    def _cut_from_clients_too(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.cut_off(self._cluster, victim, clients_too=True)

    def _cut_not_heard(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.cut_off(self._cluster, victim, from_others=False)

    def _cut_not_hearing(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.cut_off(self._cluster, victim, to_others=False)

    def _cut_between_two(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        others = [node for node in self._cluster.nodes.values() if node is not victim]
        return faults.cut_between(self._cluster, victim, self._random.choice(others))

    def _fill(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.full(self._disks[victim.node_id])

    def _wipe(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.wiped(self._cluster, victim)

    def _lose_a_directory(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.lost_directory(self._cluster, victim, self._topic(), self._random)

    def _shorten(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.shortened(self._cluster, victim, self._topic(), self._random)

    def _rot(self, victim: NodeProcess) -> contextlib.AbstractContextManager[None]:
        return faults.rotten(self._cluster, victim, self._topic(), self._random)

    def _topic(self) -> str:
        return self._random.choice(self._topics)

    @contextlib.contextmanager
    def _roll(self, _victim: NodeProcess) -> Iterator[None]:
        faults.roll(self._cluster)
        yield


@pytest.mark.timeout(120 + 90 * MINUTES)
def test_all_faults_together(
    tmp_path: Path, network: Network, resources: contextlib.ExitStack
) -> None:
    cluster = ClusterProcesses(tmp_path, 5, SETTINGS, network)
    disks = mount_disks(cluster, resources)
    resources.enter_context(cluster)
    chaos = Chaos(cluster, disks, SEED)
    with hurt(cluster) as workload:
        chaos.run(workload, MINUTES)


@pytest.mark.skipif(not ASKED_FOR, reason="test_exactly_once has each fault by itself")
@pytest.mark.timeout(180 + 90 * MINUTES)
def test_all_faults_together_with_transactions(
    tmp_path: Path,
    network: Network,
    resources: contextlib.ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aio, "_loop", None)  # a thread stays on the host on which it was started
    cluster = ClusterProcesses(tmp_path, 5, EXACT, network)
    disks = mount_disks(cluster, resources)
    resources.enter_context(cluster)
    chaos = Chaos(cluster, disks, SEED, (SOURCE, STATE, "__consumer_offsets"))
    with exactly_once(cluster, tmp_path) as running:
        chaos.run(running, MINUTES)
