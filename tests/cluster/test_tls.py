"""Three nodes that speak only TLS, also among themselves, and require certificates of clients."""

import asyncio
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

import barnabas
from barnabas.embedded.ports import Ports
from barnabas.errors import BarnabasError, BrokerUnreachable, HandshakeFailed, NotAuthorized
from barnabas.tls.contexts import client_context
from barnabas.tls.tls_files import Pem, TlsFiles
from barnabas.wire.messages.metadata import MetadataRequest
from tests.support.certificates import Authority, Certificate
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.machine import find_tool, missing
from tests.support.wait import LIMIT_S, wait_until

HOSTS = ("127.0.0.1",)
RECORDS = 200


class Secured:
    """A cluster, and what its clients need."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory / "ca")
        self.certificates = directory
        self.alice = self.authority.issue("/O=Example/CN=alice")
        self.cluster = ClusterProcesses(directory)
        for node in self.cluster.nodes.values():
            node.tls = client_context(self.files(self.alice), check_hostname=True)
            node.settings |= {
                "listeners": f"SECURE://{node.bootstrap}",
                "listener.security.protocol.map": "SECURE:SSL",
                "listener.name.secure.ssl.keystore.location": str(self.place(node.node_id)),
                "ssl.truststore.location": str(self.authority.certificate),
                "ssl.client.auth": "required",
                "ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/,DEFAULT",
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:alice",
            }
            self.replace(node.node_id)

    def place(self, node_id: int) -> Path:
        return self.certificates / f"node-{node_id}.pem"

    def replace(self, node_id: int, **how: object) -> None:
        """Give a node a new certificate."""
        made = self.authority.issue(f"/CN=node-{node_id}", **{"hosts": HOSTS, **how})  # type: ignore[arg-type]
        self.place(node_id).write_text(made.both.read_text())

    def files(self, certificate: Certificate | None) -> TlsFiles:
        return TlsFiles(
            None if certificate is None else Pem("", str(certificate.both)),
            trusted=Pem("", str(self.authority.certificate)),
        )

    def settings(self, certificate: Certificate | None = None) -> dict[str, str]:
        """Of clients, by the names that librdkafka and Barnabas know."""
        shown = certificate or self.alice
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "ssl.certificate.location": str(shown.certificate),
            "ssl.key.location": str(shown.key),
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    with made.cluster:
        yield made


# -- clients ---------------------------------------------------------------------------------------


def with_barnabas(secured: Secured, topic: str) -> list[bytes]:
    bootstrap, security = secured.cluster.bootstrap, secured.settings()
    with barnabas.Producer(bootstrap, security=security) as producer:
        for number in range(RECORDS):
            producer.send(topic, b"%d" % number, partition=number % 3)
    with barnabas.Consumer(bootstrap, topic, group="barnabas", security=security) as consumer:
        return [message.value for message in islice(consumer, RECORDS)]


def with_confluent(secured: Secured, topic: str) -> list[bytes]:
    given = {"bootstrap.servers": secured.cluster.bootstrap, **secured.settings()}
    producer = confluent_kafka.Producer(given)
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % 3)
    assert producer.flush(LIMIT_S) == 0
    consumer = confluent_kafka.Consumer(
        {**given, "group.id": "confluent", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        found = consumer.consume(RECORDS, 60)
        return [bytes(message.value() or b"") for message in found]
    finally:
        consumer.close()


def with_kafka_python(secured: Secured, topic: str) -> list[bytes]:
    given = {
        "bootstrap_servers": secured.cluster.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": str(secured.authority.certificate),
        "ssl_certfile": str(secured.alice.certificate),
        "ssl_keyfile": str(secured.alice.key),
    }
    producer = kafka.KafkaProducer(**given)
    for number in range(RECORDS):
        producer.send(topic, b"%d" % number, partition=number % 3)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, group_id="python", auto_offset_reset="earliest", consumer_timeout_ms=60_000, **given
    )
    try:
        return [message.value for message in islice(consumer, RECORDS)]
    finally:
        consumer.close()


def with_aiokafka(secured: Secured, topic: str) -> list[bytes]:
    async def main() -> list[bytes]:
        given = {
            "bootstrap_servers": secured.cluster.bootstrap,
            "security_protocol": "SSL",
            "ssl_context": client_context(secured.files(secured.alice), check_hostname=True),
        }
        async with AIOKafkaProducer(**given) as producer:
            for number in range(RECORDS):
                await producer.send(topic, b"%d" % number, partition=number % 3)
        consumer = AIOKafkaConsumer(topic, group_id="aio", auto_offset_reset="earliest", **given)
        async with consumer:
            return [(await consumer.getone()).value for _ in range(RECORDS)]

    return asyncio.run(asyncio.wait_for(main(), 60))


def with_kcat(secured: Secured, topic: str) -> list[bytes]:
    program = find_tool("kcat")
    if program is None:
        pytest.skip(missing("kcat"))
    options = [f"{name}={value}" for name, value in secured.settings().items()]
    command = [str(program), "-b", secured.cluster.bootstrap, "-t", topic]
    command += [part for option in options for part in ("-X", option)]
    lines = b"\n".join(b"%d" % number for number in range(RECORDS))
    subprocess.run([*command, "-P"], input=lines, check=True, timeout=LIMIT_S)
    found = subprocess.run([*command, "-C", "-e", "-q"], capture_output=True, timeout=LIMIT_S)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


@pytest.mark.parametrize(
    "client", [with_barnabas, with_confluent, with_kafka_python, with_aiokafka, with_kcat]
)
def test_clients(secured: Secured, client: Callable[[Secured, str], list[bytes]]) -> None:
    topic = client.__name__
    secured.cluster.create_topic(topic, 3)
    assert sorted(map(int, client(secured, topic))) == list(range(RECORDS))


def test_the_command_line(secured: Secured, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    lines = {"bootstrap.servers": secured.cluster.bootstrap, **secured.settings()}
    properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    command = ["barnabas", "cluster", "status", "--json", "--command-config", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["nodes"]) == 3


def test_the_certificate_says_who_it_is(secured: Secured) -> None:
    """alice may do everything, bob nothing."""
    bob = secured.authority.issue("/O=Example/CN=bob")
    secured.cluster.create_topic("of-alice")
    bootstrap = secured.cluster.bootstrap
    with (
        admin(secured) as alice,
        barnabas.Admin(bootstrap, security=secured.settings(bob)) as limited,
    ):
        assert "of-alice" in alice.topics()
        assert "of-alice" not in limited.topics()
        with pytest.raises(NotAuthorized):
            limited.create_topic("of-bob")


# -- who is refused --------------------------------------------------------------------------------


def admin(secured: Secured, **changed: str | None) -> barnabas.Admin:
    security = secured.settings() | {
        name.replace("_", "."): value for name, value in changed.items() if value is not None
    }
    for name in [name for name in changed if changed[name] is None]:
        del security[name.replace("_", ".")]
    return barnabas.Admin(secured.cluster[1].bootstrap, security=security)


def refusal(secured: Secured, **changed: str | None) -> str:
    with admin(secured, **changed) as refused, pytest.raises(HandshakeFailed) as failure:
        refused.topics()
    return str(failure.value)


def log_has(secured: Secured, *lines: str) -> None:
    def found() -> bool:
        text = secured.cluster[1].log.read_text()
        return all(line in text for line in lines)

    wait_until(found, f"the log lacks one of {lines}")


def test_clients_that_are_refused(secured: Secured, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    assert "its certificate is not of a trusted CA" in refusal(
        secured, ssl_ca_location=str(other.certificate)
    )
    assert "it requires a client certificate, and none was given" in refusal(
        secured, ssl_certificate_location=None, ssl_key_location=None
    )
    log_has(secured, "SECURE: it has sent no certificate, and ssl.client.auth is required")
    mallory = other.issue("/CN=mallory")
    assert "it does not trust the CA of this side's certificate" in refusal(
        secured,
        ssl_certificate_location=str(mallory.certificate),
        ssl_key_location=str(mallory.key),
    )
    log_has(secured, "SECURE: its certificate is not of a trusted CA")
    expired = secured.authority.issue("/CN=old", days=-1)
    assert "it says that this side's certificate has expired" in refusal(
        secured,
        ssl_certificate_location=str(expired.certificate),
        ssl_key_location=str(expired.key),
    )
    log_has(secured, "SECURE: its certificate has expired")
    with (
        barnabas.Admin(secured.cluster[1].bootstrap) as plain,
        pytest.raises(BrokerUnreachable, match=r"needs security\.protocol=SSL"),
    ):
        plain.topics()
    log_has(secured, "it does not speak TLS, which this listener needs")


def test_a_node_with_a_certificate_of_another_host(secured: Secured) -> None:
    secured.replace(1, hosts=("elsewhere.example",))
    try:
        wait_until(lambda: "not for" in failure_at(secured), "the certificate is still accepted")
        assert "its certificate is not for '127.0.0.1'" in failure_at(secured)
        with admin(secured, ssl_endpoint_identification_algorithm="") as lax:
            assert lax.cluster().brokers
    finally:
        secured.replace(1)
    wait_until(lambda: not failure_at(secured), "the new certificate is not used")


def failure_at(secured: Secured) -> str:
    try:
        with admin(secured) as tried:
            tried.topics()
    except HandshakeFailed as error:
        return str(error)
    return ""


# -- replacing certificates ------------------------------------------------------------------------


def test_certificates_are_replaced_under_load(secured: Secured) -> None:
    secured.cluster.create_topic("rotated", 3)
    bootstrap, security = secured.cluster.bootstrap, secured.settings()
    lost: list[Exception] = []
    sent = 0
    stop = threading.Event()

    def load() -> None:
        nonlocal sent
        try:
            with barnabas.Producer(bootstrap, security=security, delivery_timeout_ms=20_000) as out:
                while not stop.is_set():
                    out.send("rotated", b"x").result()
                    sent += 1
        except BarnabasError as error:
            lost.append(error)

    def serial(node_id: int) -> str:
        node = secured.cluster[node_id]
        with node.connect() as client:
            assert isinstance(client.socket, ssl.SSLSocket)
            shown = client.socket.getpeercert()
        return str((shown or {}).get("serialNumber"))

    def has_changed(node_id: int, before: str) -> bool:
        return serial(node_id) != before

    loading = threading.Thread(target=load)
    loading.start()
    open_all_along = secured.cluster[1].connect()
    try:
        for node_id in (1, 2, 3):
            before = serial(node_id)
            secured.replace(node_id)
            wait_until(partial(has_changed, node_id, before), "no new certificate")
        before = serial(1)
        elsewhere = secured.authority.issue("/CN=node-1", hosts=HOSTS).both
        setting = "listener.name.secure.ssl.keystore.location"
        with admin(secured) as by_config:
            by_config.set_configs({setting: str(elsewhere)}, broker=1)
            assert by_config.configs(broker=1)[setting].value == str(elsewhere)
            wait_until(partial(has_changed, 1, before), "no new certificate")
            by_config.set_configs({setting: None}, broker=1)
    finally:
        stop.set()
        loading.join()
    assert not lost
    assert sent > 0
    with open_all_along as client:
        assert client.ask(MetadataRequest(topics=[]), 9).brokers
    log_has(secured, "listener SECURE uses new certificates from now on")
    assert "connection was lost" not in secured.cluster[1].log.read_text()


# -- from open to closed ---------------------------------------------------------------------------


def test_a_rolling_switch_to_tls(tmp_path: Path) -> None:
    """As docs/security.md has it: no acknowledged record is lost, and no send fails."""
    authority = Authority(tmp_path / "ca")
    pem = authority.issue("/CN=node", hosts=HOSTS).both
    trusting = TlsFiles(trusted=Pem("", str(authority.certificate)))
    security = {"security.protocol": "SSL", "ssl.ca.location": str(authority.certificate)}
    cluster = ClusterProcesses(tmp_path)
    nodes = list(cluster.nodes.values())
    ports = Ports(len(nodes))
    secured = dict(zip(cluster.nodes, ports.numbers, strict=True))
    voters = ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in secured.items())
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in secured.values())
    sent = 0

    def roll(change: Callable[[NodeProcess], dict[str, str]], *, to_tls: bool = False) -> None:
        for node in nodes:
            node.stop()
            node.settings |= change(node)
            if to_tls:
                node.port = secured[node.node_id]
                node.tls = client_context(trusting, check_hostname=True)
            node.start()
            if to_tls:  # for clients of the open listener, this node leads nothing any more
                wait_until(in_sync, "the cluster is not in sync")
            else:
                cluster.wait_until_in_sync()

    def in_sync() -> bool:
        with barnabas.Admin(bootstrap, security=security) as admin:
            led = admin.describe_topic("t").partitions
            return all(each.leader is not None and len(each.isr) == len(nodes) for each in led)

    def both(node: NodeProcess) -> dict[str, str]:
        return {
            "listeners": f"PLAINTEXT://{node.bootstrap},SSL://127.0.0.1:{secured[node.node_id]}",
            "ssl.keystore.location": str(pem),
            "ssl.truststore.location": str(authority.certificate),
        }

    def by_tls(_: NodeProcess) -> dict[str, str]:
        return {"security.inter.broker.protocol": "SSL", "controller.quorum.voters": voters}

    def only_tls(node: NodeProcess) -> dict[str, str]:
        return {"listeners": f"SSL://127.0.0.1:{secured[node.node_id]}"}

    def load(producer: barnabas.Producer, stop: threading.Event) -> None:
        nonlocal sent
        with producer:
            while not stop.is_set():
                producer.send("t", b"x").result()
                sent += 1

    with cluster:
        cluster.create_topic("t", 3)
        stop = threading.Event()
        with ThreadPoolExecutor() as threads:
            plain = threads.submit(load, barnabas.Producer(cluster.bootstrap), stop)
            try:
                roll(both)
                roll(by_tls)
            finally:
                stop.set()
            plain.result()
            stop = threading.Event()
            secure = threads.submit(load, barnabas.Producer(bootstrap, security=security), stop)
            try:
                roll(only_tls, to_tls=True)
            finally:
                stop.set()
            secure.result()
        with barnabas.Admin(bootstrap, security=security) as admin:
            ends = admin.offsets("t")
        assert sum(ends.values()) == sent > 0
    ports.close()
