"""What TLS, access rules and quotas cost.

    BARNABAS_KAFKA_JARS=FOLDER python -m benchmarks security [--quick]

TLS             broker CPU per GB of record values of 1 kB, in and out, through librdkafka. The
                baseline is a real Kafka's TLS, if the variable names its JAR files
                (`kafka_process`); it is warmed up with as many records first
TLS, vs. plain  the same, and the baseline is Barnabas without TLS
handshakes      broker CPU of one connection by TLS 1.3, with ApiVersions, and without resumption
access rules    broker CPU of a request with one record, and the baseline is a broker without rules
a quota         the same with a quota that is never reached
"""

import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

import barnabas
from barnabas.security.setup.cluster_files import ClusterFiles, NodeHosts
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic, make_offsets_topic
from benchmarks.kafka_process import JARS, is_available, kafka
from benchmarks.raw_client import RawConnection, produce_frame
from benchmarks.throughput import consume, produce

_SIZE = 1000
_TOGETHER = 64
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:nobody",
    "allow.everyone.if.no.acl.found": "true",
}


def measure(bench: Bench) -> list[Row]:
    count = 100_000 if bench.quick else 300_000
    connections = 200 if bench.quick else 1_000
    requests = 20_000 if bench.quick else 60_000
    if not is_available():
        bench.console.print(f"Kafka is not there to compare with: set {JARS}")
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder:
        files = ClusterFiles(Path(folder))
        files.make([NodeHosts(1, ("localhost", "127.0.0.1"))])
        tls, plain, hands = [], [], []
        for _ in range(bench.rounds):
            tls.append({BARNABAS: _throughput(bench, _ours(files), count)})
            plain.append(_throughput(bench, _plain(), count))
            hands.append({BARNABAS: _handshakes(_ours(files), connections)})
            if is_available():
                tls[-1][BASELINE] = _throughput(bench, _theirs(files), count, warm_up=True)
                hands[-1][BASELINE] = _handshakes(_theirs(files), connections, warm_up=True)
    rows = [Row("TLS, CPU per GB in and out", "s", _medians(tls), at_most_ratio=1.0)]
    against_plain = {BARNABAS: median(each[BARNABAS] for each in tls), BASELINE: median(plain)}
    rows.append(Row("TLS vs. plain, CPU per GB in and out", "s", against_plain))
    rows.append(Row("a connection by TLS, CPU", "us", _medians(hands), at_most_ratio=1.0))
    return rows + _checks(bench, requests)


def _medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(each[name] for each in found) for name in found[0]}


@contextmanager
def _ours(files: ClusterFiles) -> Iterator[Broker]:
    settings = {**_tls_settings(files), "listeners": "SSL://127.0.0.1:0"}
    with Contender(BARNABAS).started(settings=settings, security=_client(files)) as broker:
        yield broker


@contextmanager
def _theirs(files: ClusterFiles) -> Iterator[Broker]:
    with kafka(_tls_settings(files), _client(files)) as broker:
        yield broker


@contextmanager
def _plain() -> Iterator[Broker]:
    with Contender(BARNABAS).started() as broker:
        yield broker


def _tls_settings(files: ClusterFiles) -> dict[str, str]:
    made = files.node_settings(1)
    return {name: value for name, value in made.items() if name.startswith("ssl.")}


def _client(files: ClusterFiles) -> dict[str, str]:
    return {"security.protocol": "SSL", "ssl.ca.location": str(files.ca_file)}


def _throughput(
    bench: Bench, started: AbstractContextManager[Broker], count: int, *, warm_up: bool = False
) -> float:
    with started as broker:
        create_topic(broker, TOPIC, 1)
        make_offsets_topic(broker, TOPIC)
        if warm_up:
            produce(broker, _SIZE, count)
            consume(broker, count)
        used = produce(broker, _SIZE, count) + consume(broker, count)
        per_gigabyte = used / (_SIZE * count / 1e9)
        bench.console.print(f"  [dim]{broker.name}: {per_gigabyte:.3g} s/GB[/]", highlight=False)
    return per_gigabyte


def _handshakes(
    started: AbstractContextManager[Broker], count: int, *, warm_up: bool = False
) -> float:
    """Microseconds of CPU of each."""
    with started as broker:
        context = ssl.create_default_context(cafile=broker.security["ssl.ca.location"])
        if warm_up:
            _connect(broker, context, count)
        before = broker.cpu_s()
        _connect(broker, context, count)
        return (broker.cpu_s() - before) / count * 1e6


def _connect(broker: Broker, context: ssl.SSLContext, count: int) -> None:
    frame = b"".join(encode_request(ApiVersionsRequest("bench", "1"), 3, 1, "bench"))
    for _ in range(count):
        with (
            socket.create_connection((broker.host, broker.port), 30) as raw,
            context.wrap_socket(raw, server_hostname=broker.host) as secured,
        ):
            secured.sendall(frame)
            assert secured.recv(4)


def _checks(bench: Bench, requests: int) -> list[Row]:
    seen: dict[str, list[float]] = {"without": [], "rules": [], "quota": []}
    for _ in range(bench.rounds):
        seen["without"].append(_requests({}, requests))
        seen["rules"].append(_requests(_AUTHORIZER, requests))
        seen["quota"].append(_requests({}, requests, has_quota=True))
    without = median(seen["without"])
    return [
        Row(
            "one record with access rules, CPU",
            "us",
            {BARNABAS: median(seen["rules"]), BASELINE: without},
        ),
        Row(
            "one record with a quota, CPU",
            "us",
            {BARNABAS: median(seen["quota"]), BASELINE: without},
        ),
    ]


def _requests(settings: Mapping[str, str], count: int, *, has_quota: bool = False) -> float:
    """Microseconds of broker CPU for each request of one record, many under way at a time."""
    with Contender(BARNABAS).started(settings=settings) as broker:
        create_topic(broker, TOPIC, 1)
        if settings:
            _add_rules(broker)
        if has_quota:
            with barnabas.Admin(broker.bootstrap) as admin:
                admin.set_quotas({"producer_byte_rate": 1e12}, client_id="bench")
        frames = produce_frame(TOPIC, bytes(100)) * _TOGETHER
        with RawConnection(broker.host, broker.port) as connection:
            for round_count in (count // 10, count):
                before = broker.cpu_s()
                for _ in range(round_count // _TOGETHER):
                    connection.send(frames)
                    answered = 0
                    while answered < _TOGETHER:
                        answered += len(connection.receive())
        return (broker.cpu_s() - before) / (count // _TOGETHER * _TOGETHER) * 1e6


def _add_rules(broker: Broker) -> None:
    """Some for others, and the one that decides."""
    admin = AdminClient(broker.client)
    rules = [
        AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            user,
            "*",
            AclOperation.WRITE,
            AclPermissionType.ALLOW,
        )
        for topic, user in [
            *((f"other-{number}", f"User:other-{number}") for number in range(100)),
            (TOPIC, "User:ANONYMOUS"),
        ]
    ]
    for done in admin.create_acls(rules).values():
        done.result()
