"""Instances of the schema registry that give ids, each at any moment, and all want to write.

The log, the writer and the decisions are those of `barnabas registry`. Only forwarding is left out:
an instance that does not write becomes the writer itself, which is what endangers ids. Instances
end without a word and begin again, and the brokers have the faults of the run.

An id that is answered belongs to one schema, also if other schemas are deleted for good, and stays
at its version. At the end all schemas are there that were answered and not deleted.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Self, TypeAlias

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.environment import ClientEnvironment
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.client.producer.transaction import ProducerTransaction
from barnabas.errors import BarnabasError
from barnabas.registry.log import RegistryLog
from barnabas.registry.model.checks import Resolve
from barnabas.registry.model.contents import SchemaContent
from barnabas.registry.model.deletion import delete_version
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.registration import WantedSchema, register
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.settings import RegistrySettings
from barnabas.registry.writer import RegistryWriter, WriterLostError
from barnabas.sim.checks.history import Violation
from barnabas.sim.client import TIMEOUT_MS, Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import PORT

TOPIC = "_schemas"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
"""Of the nodes."""
_EPOCH_MS = 1_700_000_000_000
_SUBJECTS = 2
_SCHEMAS = 40
_INSTANCES = 3
_DELETED = 0.1
_ENDS = 0.1
_TAKES_OVER = 0.3


_Change: TypeAlias = Callable[[Client, RegistryInstance], Awaitable[None]]


class AnySchema:
    """Takes every text for a schema, and every change for compatible."""

    kinds: Sequence[str] = ("AVRO",)

    def canonical(self, content: SchemaContent, resolve: Resolve, *, normalize: bool) -> str:
        del resolve, normalize
        return content.text

    def formatted(self, content: SchemaContent, form: str, resolve: Resolve) -> str:
        del form, resolve
        return content.text

    def incompatibilities(
        self,
        content: SchemaContent,
        earlier: Sequence[SchemaVersion],
        level: str,
        resolve: Resolve,
    ) -> list[str]:
        del content, earlier, level, resolve
        return []


class GivenIds:
    """What all instances have answered."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        """By id."""
        self.versions: dict[tuple[str, int], SchemaVersion] = {}
        self.deleted: set[tuple[str, int]] = set()
        """Versions that may have been deleted for good."""

    def answered(self, entry: SchemaVersion) -> None:
        """Raises `Violation`."""
        text = entry.content.text
        if self.schemas.setdefault(entry.id, text) != text:
            raise Violation(
                f"the registry has given id {entry.id} to {self.schemas[entry.id]} and to {text}"
            )
        self.versions[entry.subject, entry.version] = entry

    def check(self, image: RegistryImage) -> None:
        """Raises `Violation` if something that was answered is not there."""
        answered = dict(self.versions)
        for subject in image.schemas.subjects():
            for entry in image.schemas.versions(subject).values():
                self.answered(entry)
        for (subject, version), entry in answered.items():
            if (subject, version) in self.deleted:
                continue
            found = image.schemas.versions(subject).get(version)
            if found is None:
                raise Violation(f"version {version} of {subject}, id {entry.id}, is lost")
            if found.id != entry.id:
                raise Violation(f"version {version} of {subject} has id {found.id}, not {entry.id}")


class RegistryWorkload:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._bootstrap = [f"{each.host}:{PORT}" for each in cluster.machines.values()]
        self._started = 0
        self.given = GivenIds()
        self.takeovers = 0

    def begin(self) -> None:
        """On several machines, which can be on different sides of a cut."""
        for number in range(_INSTANCES):
            client = self._cluster.client(f"registry-{number}")
            client.run(self._serve(client))

    async def judge(self, judge: Client) -> None:
        """Register something new, and compare what the topic has with what was answered."""
        instance, log = await self._open(judge)
        await self._change(judge, instance, self._register)
        await log.catch_up(None)
        self.given.check(log.image)
        await instance.writer.resign()
        await log.close()
        ids = len(self.given.schemas)
        judge.simulator.say(f"the registry has given {ids} ids, {self.takeovers} takeovers")

    async def _serve(self, client: Client) -> None:
        while not client.is_stopping:
            instance, log = await self._open(client)
            await self._make_changes(client, instance)
            self.takeovers += instance.writer.takeovers
            await log.close()

    async def _make_changes(self, client: Client, instance: RegistryInstance) -> None:
        """Until the instance ends."""
        while not client.is_stopping and client.random.random() >= _ENDS:
            deletes = client.random.random() < _DELETED
            await self._change(client, instance, self._delete if deletes else self._register)
            await client.pause(5, 150)

    async def _open(self, client: Client) -> tuple[RegistryInstance, "_SimulatedLog"]:
        self._started += 1
        settings = RegistrySettings(
            ",".join(self._bootstrap), advertised=f"http://{client.name}/{self._started}"
        )
        while True:
            log = _SimulatedLog(settings)
            try:
                await log.follow(self._cluster_of(client))
                break
            except BarnabasError as error:
                if not error.retriable:
                    raise
                client.simulator.remark("%s: %s", client.name, error)
        writer = RegistryWriter(
            settings,
            log,
            settings.advertised or "",
            lambda each: _SimulatedProducer(client, self._cluster_of(client), each),
        )
        return RegistryInstance(settings, log, writer, AnySchema()), log

    def _cluster_of(self, client: Client) -> ClusterClient:
        return ClusterClient(
            self._bootstrap,
            client_id=client.name,
            connect_timeout_ms=TIMEOUT_MS,
            request_timeout_ms=TIMEOUT_MS,
            retry_timeout_ms=2 * TIMEOUT_MS,
            environment=ClientEnvironment(client.process.time, client.random.random),
        )

    async def _change(self, client: Client, instance: RegistryInstance, change: _Change) -> None:
        """As `RegistryRouter` makes a change that it can't forward."""
        while True:
            former = instance.image.writer
            try:
                await change(client, instance)
            except WriterLostError as error:
                client.simulator.remark("%s: %s", client.name, error)
            else:
                return
            if client.is_stopping and client.name != "judge":
                return
            if client.name == "judge" or client.random.random() < _TAKES_OVER:
                try:
                    await instance.writer.take_over(former)
                    continue
                except BarnabasError as error:
                    client.simulator.remark("%s: %s", client.name, error)
            await client.pause(5, 100)

    async def _register(self, client: Client, instance: RegistryInstance) -> None:
        subject = f"s{client.random.randrange(_SUBJECTS)}"
        text = f"schema-{client.random.randrange(_SCHEMAS)}"
        wanted = WantedSchema(subject, SchemaContent("AVRO", text))
        entry = await instance.change(lambda image: register(image, instance.checks, wanted))
        self.given.answered(entry)

    async def _delete(self, client: Client, instance: RegistryInstance) -> None:
        """The newest schema, for good: its id must not come again."""
        subject = f"s{client.random.randrange(_SUBJECTS)}"
        try:
            version = await instance.change(
                lambda image: delete_version(image, subject, None, permanent=False)
            )
            self.given.deleted.add((subject, version))
            await instance.change(
                lambda image: delete_version(image, subject, version, permanent=True)
            )
        except RegistryRefusal as refusal:
            client.simulator.remark("%s: %s", client.name, refusal)


class _SimulatedLog(RegistryLog):
    """The topic is there already."""

    async def close(self) -> None:
        await self.__aexit__(None, None, None)


class _SimulatedProducer:
    """The public producer without the engine's thread."""

    def __init__(self, client: Client, cluster: ClusterClient, settings: RegistrySettings) -> None:
        self._client = client
        self._producer = RecordProducer(
            cluster,
            linger_ms=0,
            delivery_timeout_ms=2 * TIMEOUT_MS,
            auto_create=False,
            transactional_id=settings.transactional_id,
            transaction_timeout_ms=2 * TIMEOUT_MS,
        )
        self._core = ProducerCore(cluster, self._producer)

    async def __aenter__(self) -> Self:
        try:
            await self._core.start()
        except BaseException:
            await self.close(0)
            raise
        return self

    def transaction(self) -> ProducerTransaction:
        return self._producer.transaction()

    async def send(
        self, topic: str, value: bytes | None, key: bytes | None, *, partition: int
    ) -> Sent:
        now_ms = _EPOCH_MS + self._client.simulator.now_us // 1000
        return await self._core.send(topic, value, key, (), partition, now_ms)

    async def close(self, timeout_s: float) -> None:
        self._core.close_timeout_s = timeout_s
        await self._core.close()
