"""A cluster of two releases: nodes are upgraded one after the other, some go back, and the level of
`metadata.version` is raised when all are new.

A node of the older release serves and sends older versions of some requests, and supports only the
first level. Nothing else differs, so this finds mistakes in the negotiation of versions, and levels
that are raised too early: an older node can't go on with a level that it does not support.
"""

from barnabas.broker.runtime.release import Release
from barnabas.metadata.features import METADATA_VERSION, SUPPORTED, FeatureRange, MetadataVersion
from barnabas.sim.checks.history import Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

NEW = Release()
OLD = Release(
    {**SUPPORTED, METADATA_VERSION: FeatureRange(MetadataVersion.FIRST, MetadataVersion.FIRST)},
    {
        request.API_KEY: request.MAX_VERSION - 1
        for request in (
            FetchRequest,
            ListOffsetsRequest,
            BrokerRegistrationRequest,
            BrokerHeartbeatRequest,
            CreateTopicsRequest,
        )
    },
)
_EVERY_US = 900_000
_BACK = 0.25
"""How likely a node goes back to the older release."""
_RAISE = 0.3
"""How likely the operator tries to raise the level instead, sooner or later too early."""
_STEP_US = 40_000_000


class Releases:
    """The operator who upgrades the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._simulator = cluster.simulator
        self._random = cluster.simulator.source("releases")
        self._client = cluster.client("upgrader")
        self._is_on = False
        self._may_go_back = True
        """Until the level may have been raised."""
        for machine in cluster.machines.values():
            machine.release = OLD

    def begin(self) -> None:
        self._is_on = True
        self._later()

    def _later(self) -> None:
        self._simulator.after(self._random.randint(1, 2 * _EVERY_US), self._act)

    def _act(self) -> None:
        if not self._is_on:
            return
        self._check()
        if self._random.random() < _RAISE:
            self._may_go_back = False
            self._client.run(self._try_to_raise())
        else:
            machine = self._random.choice(list(self._cluster.machines.values()))
            if machine.release is OLD:
                self._replace(machine, NEW)
            elif self._may_go_back and self._random.random() < _BACK:
                self._replace(machine, OLD)
        self._later()

    def _check(self) -> None:
        """No level is raised while a node does not support it."""
        old = [each.host for each in self._cluster.machines.values() if each.release is OLD]
        for node in self._cluster.nodes():
            level = node.image.features.metadata_version
            if old and level != MetadataVersion.FIRST:
                raise Violation(
                    f"node {node.node_id} has {METADATA_VERSION} {level}, and {old[0]} is old"
                )

    def _replace(self, machine: Machine, release: Release) -> None:
        """The next process on the machine is of that release."""
        self._simulator.say(f"{machine.host} gets the {'new' if release is NEW else 'old'} release")
        machine.release = release
        if self._random.random() < 0.5:
            machine.stop()
        else:
            machine.kill()

    async def _try_to_raise(self) -> None:
        await self._raise()

    async def _raise(self) -> bool:
        level = MetadataVersion.FEATURE_LEVELS
        update = FeatureUpdateKey(METADATA_VERSION, level)
        request = UpdateFeaturesRequest(feature_updates=[update])
        self._simulator.say(f"{METADATA_VERSION} is to be {level}")
        try:
            answer = await self._client.call(self._client.any_node(), request)
        except TryAgain as error:
            self._simulator.remark("upgrader: %s", error)
            return False
        self._simulator.remark("upgrader: %s", answer.error_message)
        return not answer.error_code

    def end(self) -> None:
        """Upgrade the rest, and raise the level."""
        self._is_on = False
        self._check()
        for machine in self._cluster.machines.values():
            if machine.release is OLD:
                self._replace(machine, NEW)
                self._simulator.run_until_true(
                    lambda machine=machine: machine.is_ready,  # type: ignore[misc]
                    _STEP_US,
                    f"{machine.host} is back with the new release",
                )
        self._client.run(self._raise_at_last(self._client))
        self._simulator.run_until_true(self._is_raised, _STEP_US, "the level is raised")

    async def _raise_at_last(self, client: Client) -> None:
        while not await self._raise():
            await client.pause(200, 500)

    def _is_raised(self) -> bool:
        nodes = list(self._cluster.nodes())
        return len(nodes) == len(self._cluster.machines) and all(
            node.image.features.metadata_version == MetadataVersion.FEATURE_LEVELS for node in nodes
        )
