"""`barnabas pipeline rights`: what a definition needs, printed and checked."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.cli.pipeline.arguments import chosen_of
from barnabas.cli.pipeline.startup_checks import check_before_start
from barnabas.errors import NotAuthorized
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import RunFolder
from tests.cli.conftest import Cli
from tests.support.access import AUTHORIZER
from tests.support.sasl import ADMIN, SaslBroker

USER, PASSWORD = ADMIN
SHOUT = (
    "-- source words: topic words schema='word STRING NOT NULL' dead_letters=bad-words\n"
    "-- sink: topic shouted exactly_once=true\n"
    "SELECT upper(word) AS word FROM words"
)
NEEDED = [
    "barnabas acls add alice read --topic words",
    "barnabas acls add alice write --topic shouted",
    "barnabas acls add alice write --topic bad-words",
    "barnabas acls add alice read --group shout",
    "barnabas acls add alice read --group shout. --prefixed",
    "barnabas acls add alice write --transactional-id shout. --prefixed",
    "barnabas acls add alice write,two_phase_commit --transactional-id barnabas-spark- --prefixed",
    "barnabas acls add alice read,write,create --topic __barnabas_spark_commits",
]
OPTIONAL = [
    "barnabas acls add alice write,describe,create --topic __barnabas_pipelines",
    "barnabas acls add alice read,describe,create --topic __barnabas_pipeline_requests",
]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with access rules; whoever does not sign in is a super user."""
    settings = {**AUTHORIZER, "super.users": "User:root;User:ANONYMOUS"}
    with SaslBroker(tmp_path_factory.mktemp("closed"), settings) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            for name in ("words", "shouted", "bad-words"):
                admin.create_topic(name)
        yield broker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pipelines"
    made.mkdir()
    (made / "shout.sql").write_text(SHOUT)
    (tmp_path / "alice.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username={USER}\nsasl.password={PASSWORD}\n"
    )
    return made


def test_what_is_printed_is_what_is_missing(closed: SaslBroker, folder: Path) -> None:
    cli = Cli(closed.bootstrap)
    config = ("--command-config", str(folder.parent / "alice.properties"))
    rights = ("pipeline", "rights", str(folder))
    assert cli.ok(*rights, "--user", "alice").splitlines() == NEEDED + OPTIONAL
    as_alice = (*rights, "--check", "--bootstrap", closed.sasl_bootstrap, *config)
    before = cli.run(*as_alice)
    assert before.returncode == 1
    # Two-phase commit can't be asked for without a change.
    expected = [each.replace(",two_phase_commit", "") for each in NEEDED + OPTIONAL]
    assert before.stdout.decode().splitlines() == expected
    address = ClusterAddress(closed.sasl_bootstrap, security())
    with pytest.raises(NotAuthorized) as caught:
        check_before_start(chosen_of(folder, None), address, RunFolder(folder), once=True)
    assert str(caught.value).splitlines()[1:] == [f"  {each}" for each in expected[: len(NEEDED)]]
    by_rules = cli.run(*rights, "--check", "--user", "alice").stdout.decode().splitlines()
    assert by_rules == NEEDED + OPTIONAL
    for command in NEEDED:
        cli.ok(*shlex.split(command)[1:])
    assert cli.ok(*as_alice).splitlines() == OPTIONAL
    assert cli.ok(*rights, "--check", "--user", "alice").splitlines() == OPTIONAL
    check_before_start(chosen_of(folder, None), address, RunFolder(folder), once=True)


def security() -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }
