"""Pipelines on a secured cluster: a user that signs in, and has the rights that they need."""

import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import barnabas
from barnabas import AclBinding
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import from_topic, pipeline, to_topic
from barnabas.spark.pipelines.http.hook_listener import HookListener, HookSettings
from barnabas.spark.pipelines.http.refused_rows import Refused, send_refused
from barnabas.spark.pipelines.operations.versions import make_topics
from tests.cli.conftest import Cli
from tests.support.wait import LIMIT_S

pytestmark = pytest.mark.drivers

PASSWORD = "correct horse battery"
RIGHTS = (
    ("READ", "TOPIC", "words"),
    ("WRITE", "TOPIC", "shouted"),
    ("WRITE", "TOPIC", "bad-words"),
    ("READ", "GROUP", "shout"),
    ("WRITE", "TRANSACTIONAL_ID", "shout"),
    ("WRITE", "TRANSACTIONAL_ID", "barnabas-spark-"),
    ("TWO_PHASE_COMMIT", "TRANSACTIONAL_ID", "barnabas-spark-"),
    ("READ", "TOPIC", "__barnabas_spark_commits"),
    ("WRITE", "TOPIC", "__barnabas_spark_commits"),
    ("CREATE", "TOPIC", "__barnabas_spark_commits"),
)
"""Of prefixes: docs/running-pipelines.md has the same."""


@pytest.fixture
def cluster() -> Iterator[barnabas.Cluster]:
    settings = {"transaction.two.phase.commit.enable": True}
    with barnabas.Cluster(secure=True, settings=settings) as cluster:
        for topic in ("words", "shouted", "bad-words"):
            cluster.create_topic(topic, partitions=1)
        yield cluster


@pytest.fixture
def cli(cluster: barnabas.Cluster) -> Iterator[Cli]:
    command = Cli(cluster.bootstrap_servers)
    yield command
    command.end()


def allow(cluster: barnabas.Cluster, *rights: tuple[str, str, str]) -> None:
    with barnabas.Admin(cluster.bootstrap_servers, security=cluster.security) as admin:
        admin.create_acls(
            AclBinding("User:alice", operation, kind, name, "PREFIXED")
            for operation, kind, name in rights
        )


def properties(folder: Path, security: Mapping[str, str]) -> str:
    file = folder / "alice.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in security.items()))
    return str(file)


@pytest.mark.timeout(900)
def test_a_run_and_a_replay_as_a_user_with_rights(
    cluster: barnabas.Cluster, cli: Cli, tmp_path: Path
) -> None:
    alice = cluster.add_user("alice", PASSWORD)
    config = ("--command-config", properties(tmp_path, alice))
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "shout.sql").write_text(
        "-- source words: topic words schema='word STRING NOT NULL' dead_letters=bad-words\n"
        "-- sink: topic shouted exactly_once=true\n"
        "SELECT upper(word) AS word FROM words"
    )
    command = ("pipeline", "run", str(folder), "--once", "--master", "local[2]")
    denied = cli.run(*command, *config)
    assert denied.returncode == 1
    assert b"(user alice) lacks 10 rights" in denied.stderr
    assert b"  barnabas acls add alice read --topic words\n" in denied.stderr
    allow(cluster, *RIGHTS)
    with barnabas.Producer(cluster.bootstrap_servers, security=cluster.security) as producer:
        for value in (b'{"word": "hello"}', b"nonsense", b'{"word": "you"}'):
            producer.send("words", value)

    done = cli.run(*command, "--json", *config)
    assert done.returncode == 0, done.stderr.decode()
    with barnabas.Consumer(
        cluster.bootstrap_servers, ["shouted", "bad-words"], security=cluster.security
    ) as consumer:
        found: list[bytes | None] = []
        while len(found) < 3:
            found += [each.value for each in consumer.poll(5)]
    assert sorted(filter(None, found)) == [b"nonsense", b'{"word":"HELLO"}', b'{"word":"YOU"}']

    written = [each for each in folder.rglob("*") if each.is_file()]
    assert any("spark" in each.name and each.suffix == ".log" for each in written)
    shown = [done.stdout, done.stderr, *(each.read_bytes() for each in written)]
    assert not any(PASSWORD.encode() in each for each in shown)

    allow(
        cluster,
        ("WRITE", "TOPIC", "words"),
        ("READ", "TOPIC", "bad-words"),
        ("READ", "GROUP", "bad-words.replay"),
        ("WRITE", "TRANSACTIONAL_ID", "bad-words.replay"),
    )
    assert cli.json("pipeline", "replay", str(folder), *config) == [
        {"pipeline": "shout", "dead_letters": "bad-words", "topic": "words", "records": 1}
    ]


def test_what_the_driver_does_itself_signs_in_too(cluster: barnabas.Cluster) -> None:
    @pipeline(sources={"words": from_topic("words", "word STRING")}, sink=to_topic("shouted"))
    def shout(words: object) -> object:
        return words

    servers, security = cluster.bootstrap_servers, cluster.security
    assert make_topics([shout], "v2", servers, security=security) == ["shouted-v2"]
    here = ClusterAddress(servers, security)
    send_refused(here, "bad-words", [Refused(b"refused", "no")], "shout", "Error")
    listener = HookListener(HookSettings(0), "words", here)
    try:
        url = f"http://127.0.0.1:{listener.port}/"
        with urllib.request.urlopen(url, b"hooked", timeout=LIMIT_S) as answer:
            assert answer.status == 200
    finally:
        listener.close()
    with barnabas.Consumer(servers, ["words", "bad-words"], security=security) as consumer:
        found: set[bytes | None] = set()
        while found != {b"hooked", b"refused"}:
            found |= {each.value for each in consumer.poll(5)}
