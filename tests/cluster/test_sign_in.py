"""Three nodes whose clients sign in, and which reach each other by the same listener."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from uuid import uuid4

import aiokafka
import confluent_kafka
import kafka
import pytest

import barnabas
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from tests.support.certificates import Authority
from tests.support.machine import find_tool, missing
from tests.support.sasl import ADMIN, MECHANISMS, SCRAM_PASSWORD, SaslCluster
from tests.support.wait import LIMIT_S, wait_until

USERS = {"PLAIN": ADMIN, "SCRAM-SHA-256": ("bob", SCRAM_PASSWORD)}
USERS["SCRAM-SHA-512"] = USERS["SCRAM-SHA-256"]
VALUES = [b"%d" % number for number in range(20)]

Talk = Callable[[str, str, str, str, str], list[bytes]]
"""Writes VALUES to a topic and reads them, by a mechanism, as a user with a password."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslCluster]:
    with SaslCluster(tmp_path_factory.mktemp("sasl")) as cluster:
        with barnabas.Admin(cluster.sasl_bootstrap, security=own("PLAIN", *ADMIN)) as admin:
            admin.set_password("bob", SCRAM_PASSWORD)
        wait_until_known(cluster)
        yield cluster


def wait_until_known(cluster: SaslCluster) -> None:
    def is_known_everywhere() -> bool:
        asked = DescribeUserScramCredentialsRequest(None)
        return all(node.ask(asked).results for node in cluster.awake())

    wait_until(is_known_everywhere, "not all nodes know bob")


def own(mechanism: str, user: str, password: str) -> dict[str, str]:
    """Settings of our clients, and of librdkafka."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def talk_by_ours(
    bootstrap: str, topic: str, mechanism: str, user: str, password: str
) -> list[bytes]:
    security = own(mechanism, user, password)
    with barnabas.Producer(bootstrap, security=security) as producer:
        for value in VALUES:
            producer.send(topic, value)
        producer.flush()
    with barnabas.Consumer(bootstrap, topic, group=f"g-{topic}", security=security) as consumer:
        return [message.value for message in islice(consumer, len(VALUES))]


def talk_by_confluent(
    bootstrap: str, topic: str, mechanism: str, user: str, password: str
) -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, **own(mechanism, user, password)}
    producer = confluent_kafka.Producer(settings)
    for value in VALUES:
        producer.produce(topic, value)
    assert producer.flush(LIMIT_S) == 0
    consumer = confluent_kafka.Consumer(
        {**settings, "group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        return [message.value() for message in consumer.consume(len(VALUES), 30)]
    finally:
        consumer.close()


def talk_by_kafka_python(
    bootstrap: str, topic: str, mechanism: str, user: str, password: str
) -> list[bytes]:
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    producer = kafka.KafkaProducer(**settings)
    for value in VALUES:
        producer.send(topic, value)
    producer.close(30)
    consumer = kafka.KafkaConsumer(
        topic, auto_offset_reset="earliest", consumer_timeout_ms=30_000, **settings
    )
    try:
        return [message.value for message in islice(consumer, len(VALUES))]
    finally:
        consumer.close()


def talk_by_aiokafka(
    bootstrap: str, topic: str, mechanism: str, user: str, password: str
) -> list[bytes]:
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }

    async def talk() -> list[bytes]:
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            for value in VALUES:
                await producer.send(topic, value)
        async with aiokafka.AIOKafkaConsumer(
            topic, auto_offset_reset="earliest", **settings
        ) as consumer:
            return [(await consumer.getone()).value for _ in VALUES]

    return asyncio.run(asyncio.wait_for(talk(), 60))


KCAT = find_tool("kcat")


def talk_by_kcat(
    bootstrap: str, topic: str, mechanism: str, user: str, password: str
) -> list[bytes]:
    settings = [f"{name}={value}" for name, value in own(mechanism, user, password).items()]
    command = [str(KCAT), "-b", bootstrap, "-t", topic, *(f"-X{each}" for each in settings)]
    subprocess.run([*command, "-P"], input=b"\n".join(VALUES), check=True, timeout=LIMIT_S)
    done = subprocess.run(
        [*command, "-C", "-e", "-q"], capture_output=True, check=True, timeout=LIMIT_S
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "talk",
    [
        talk_by_ours,
        talk_by_confluent,
        talk_by_kafka_python,
        talk_by_aiokafka,
        pytest.param(talk_by_kcat, marks=pytest.mark.skipif(KCAT is None, reason=missing("kcat"))),
    ],
)
def test_every_client_by_every_mechanism(cluster: SaslCluster, talk: Talk) -> None:
    for mechanism in MECHANISMS:
        topic = f"t-{uuid4().hex[:8]}"
        cluster.create_topic(topic)
        assert talk(cluster.sasl_bootstrap, topic, mechanism, *USERS[mechanism]) == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_our_client_says_why_it_can_not_sign_in(cluster: SaslCluster, mechanism: str) -> None:
    user, password = USERS[mechanism]
    security = own(mechanism, user, "guess-1234")
    with (
        barnabas.Admin(cluster.sasl_bootstrap, security=security) as admin,
        pytest.raises(barnabas.errors.SignInFailed) as refused,
    ):
        admin.topics()
    said = str(refused.value)
    assert f"user {user!r} cannot sign in with {mechanism}" in said
    assert "invalid user or password" in said
    assert "guess-1234" not in said
    assert password not in said
    assert not refused.value.retriable


def test_a_leader_is_killed_while_clients_are_signed_in(cluster: SaslCluster) -> None:
    topic = f"t-{uuid4().hex[:8]}"
    cluster.create_topic(topic, min_insync_replicas="2")
    bootstrap = cluster.sasl_bootstrap
    theirs = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", **own("PLAIN", *ADMIN)}
    )
    security = own("SCRAM-SHA-512", *USERS["SCRAM-SHA-512"])
    with barnabas.Producer(bootstrap, security=security) as ours:
        ours.send(topic, b"0").result()
        theirs.produce(topic, b"0")
        assert theirs.flush(LIMIT_S) == 0
        victim = cluster.leader_of(topic)
        victim.kill()
        ours.send(topic, b"1").result(LIMIT_S)
        theirs.produce(topic, b"1")
        assert theirs.flush(LIMIT_S) == 0
    victim.start()
    cluster.wait_until_whole()
    with barnabas.Consumer(bootstrap, topic, group=f"g-{topic}", security=security) as consumer:
        read = sorted(message.value for message in islice(consumer, 4))
    assert read == [b"0", b"0", b"1", b"1"]


def test_sign_in_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    tls = {
        "ssl.keystore.location": str(authority.issue("/CN=node", hosts=("127.0.0.1",)).both),
        "ssl.truststore.location": str(authority.certificate),
    }
    with SaslCluster(tmp_path, settings=tls, protocol="SASL_SSL") as cluster:
        with barnabas.Admin(cluster.bootstrap) as admin:
            admin.set_password("bob", SCRAM_PASSWORD)
        cluster.create_topic("orders")
        wait_until_known(cluster)
        security = {
            **own("SCRAM-SHA-512", "bob", SCRAM_PASSWORD),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.certificate),
        }
        theirs = confluent_kafka.Producer({"bootstrap.servers": cluster.sasl_bootstrap, **security})
        theirs.produce("orders", b"theirs")
        assert theirs.flush(LIMIT_S) == 0
        with barnabas.Producer(cluster.sasl_bootstrap, security=security) as ours:
            ours.send("orders", b"ours").result(LIMIT_S)
        with barnabas.Consumer(
            cluster.sasl_bootstrap, "orders", group="g", security=security
        ) as consumer:
            assert [message.value for message in islice(consumer, 2)] == [b"theirs", b"ours"]
