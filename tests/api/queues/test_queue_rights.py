"""`barnabas queue rights`: what it prints is what a queue needs, and no more."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.backoff import Backoff
from barnabas.client.delays import mover, movers
from barnabas.errors import NotAuthorized
from tests.cli.conftest import Cli
from tests.support.access import CLOSED
from tests.support.sasl import ADMIN, SECURITY, SaslBroker
from tests.support.wait import LIMIT_S, wait_until

USER = ADMIN[0]
WORKER = ("--group", "resizers", "--dead-letters", "dead", "--results", "--delays")
SUBMITTER = ("--results", "--delays")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with access rules; whoever does not sign in is a super user."""
    with SaslBroker(tmp_path_factory.mktemp("closed"), CLOSED) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topic("pictures")
        yield broker


@pytest.fixture
def cli(closed: SaslBroker) -> Iterator[Cli]:
    """Commands of an administrator; rules that a test has made are deleted after it."""
    yield Cli(closed.bootstrap)
    with barnabas.Admin(closed.bootstrap) as admin:
        admin.delete_acls(admin.acls())


@pytest.fixture
def settings(closed: SaslBroker, tmp_path: Path) -> Path:
    path = tmp_path / "worker.properties"
    lines = {"bootstrap.servers": closed.sasl_bootstrap, **SECURITY}
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


def commands(cli: Cli, *options: str) -> list[str]:
    return cli.ok("queue", "rights", "pictures", *options, "--user", USER).splitlines()


def grant(cli: Cli, lines: list[str]) -> None:
    for line in lines:
        cli.ok(*line.split()[1:])


def test_the_commands() -> None:
    cli = Cli("localhost:1")
    assert commands(cli, *WORKER) == [
        f"barnabas acls add {USER} read,describe_configs,write --topic pictures",
        f"barnabas acls add {USER} read,describe_configs,alter_configs --group resizers",
        f"barnabas acls add {USER} write,create --topic dead",
        f"barnabas acls add {USER} write --topic pictures.results",
        f"barnabas acls add {USER} read,write,delete --topic pictures.delayed",
        f"barnabas acls add {USER} read --group pictures.delayed",
        f"barnabas acls add {USER} write --transactional-id pictures.delayed --prefixed",
    ]
    assert commands(cli, *SUBMITTER) == [
        f"barnabas acls add {USER} write,describe_configs --topic pictures",
        f"barnabas acls add {USER} write,create --topic pictures.delayed",
        f"barnabas acls add {USER} read,create --topic pictures.results",
    ]
    assert commands(cli) == [f"barnabas acls add {USER} write --topic pictures"]
    assert "give their --group" in cli.fails(
        2, "queue", "rights", "pictures", "--dead-letters", "dead"
    )


def test_the_commands_for_a_later_step() -> None:
    """Its results are those of the jobs that it continues."""
    cli = Cli("localhost:1")
    options = ("--group", "resizers", "--results-of", "uploads", "--results-of", "scans")
    assert commands(cli, *options)[2:] == [
        f"barnabas acls add {USER} write --topic uploads.results",
        f"barnabas acls add {USER} write --topic scans.results",
    ]
    assert "give their --group" in cli.fails(
        2, "queue", "rights", "pictures", "--results-of", "uploads"
    )


@pytest.mark.parametrize(
    "lacking",
    ["read --topic drawings", "read --group painters", "write --topic lost", "create --topic lost"],
)
def test_a_worker_that_lacks_a_right_does_not_start(
    cli: Cli, closed: SaslBroker, lacking: str
) -> None:
    """Not with the first dead letter, which might come in the middle of the night."""
    with barnabas.Admin(closed.bootstrap) as admin, barnabas.Producer(closed.bootstrap) as producer:
        admin.create_topic("drawings", exist_ok=True)
        producer.send("drawings", b"cat")
    for each in (
        "read --topic drawings",
        "read --group painters",
        "write --topic lost",
        "create --topic lost",
    ):
        if each != lacking:
            cli.ok("acls", "add", USER, *each.split())
    taken: list[object] = []
    with (
        barnabas.Queue(
            closed.sasl_bootstrap,
            "drawings",
            group="painters",
            security=SECURITY,
            dead_letters="lost",
        ) as queue,
        pytest.raises(NotAuthorized) as raised,
    ):
        queue.run(taken.append)
    assert str(raised.value).splitlines() == [
        f"a worker of painters (user {USER}) lacks 1 right; an administrator grants them with:",
        f"  barnabas acls add {USER} {lacking}",
    ]
    assert not taken


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "barnabas.delays"]


def test_what_a_mover_lacks_is_said_once_with_the_commands(
    cli: Cli, closed: SaslBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """First nothing is allowed, then all but one right."""
    monkeypatch.setattr(movers, "_LOOK_DENIED_S", 0.05)
    monkeypatch.setattr(mover, "_RESTART", Backoff(0.05, 0.05))
    grant(cli, commands(cli, "--group", "resizers"))
    wanted = commands(cli, "--group", "resizers", "--delays")
    last = f"barnabas acls add {USER} write --transactional-id pictures.delayed --prefixed"
    assert last in wanted
    with barnabas.Queue(closed.bootstrap, "pictures", group="other") as other:
        other.put(b"cat", delay="100ms").result(LIMIT_S)
    with barnabas.Queue(
        closed.sasl_bootstrap, "pictures", group="resizers", security=SECURITY
    ) as queue:
        assert queue.get(1) is None
        first = wait_until(lambda: messages(caplog))
        assert f"barnabas acls add {USER} read,write --topic pictures.delayed" in first[0]
        assert last in first[0]
        grant(cli, [each for each in wanted if each != last])
        second = wait_until(lambda: messages(caplog)[1:])
        assert last in second[0]
        assert "--topic" not in second[0]
        cli.ok(*last.split()[1:])
        job = queue.get(LIMIT_S)
        assert job is not None
        job.accept()
    assert len(messages(caplog)) == 2


def test_a_denied_job_names_what_its_sender_needs(closed: SaslBroker) -> None:
    with (
        barnabas.Queue(
            closed.sasl_bootstrap, "pictures", group="resizers", security=SECURITY
        ) as queue,
        pytest.raises(NotAuthorized, match=r"write is not allowed .* write --topic pictures$"),
    ):
        queue.put(b"cat")


def test_what_a_sender_lacks_is_named_in_one_error(cli: Cli, closed: SaslBroker) -> None:
    grant(cli, commands(cli))
    with (
        barnabas.Queue(
            closed.sasl_bootstrap, "pictures", group="resizers", security=SECURITY
        ) as queue,
        pytest.raises(NotAuthorized) as raised,
    ):
        queue.put(b"cat", delay="1h")
    assert "write" in str(raised.value)
    assert f"barnabas acls add {USER} describe_configs --topic pictures" in str(raised.value)


def test_with_them_a_queue_works(cli: Cli, closed: SaslBroker, settings: Path) -> None:
    with (
        barnabas.Queue(
            closed.sasl_bootstrap, "pictures", group="resizers", security=SECURITY
        ) as queue,
        pytest.raises(NotAuthorized),
    ):
        queue.submit(b"cat")
    check = ("queue", "rights", "pictures", "--check", "--command-config", str(settings))
    assert cli.run(*check, *WORKER).returncode == 1
    grant(cli, commands(cli, *WORKER))
    grant(cli, commands(cli, *SUBMITTER))
    assert "none is missing" in cli.run(*check, *WORKER).stderr.decode()
    assert "none is missing" in cli.run(*check, *SUBMITTER).stderr.decode()

    def handle(job: barnabas.QueueMessage) -> str:
        if job.value == b"rotten":
            raise ValueError(job.value)
        return "done"

    with barnabas.Queue(
        closed.sasl_bootstrap,
        "pictures",
        group="resizers",
        security=SECURITY,
        dead_letters="dead",
        max_deliveries=1,
    ) as queue:
        thread = threading.Thread(target=queue.run, args=[handle])
        thread.start()
        try:
            assert queue.submit(b"cat").result(LIMIT_S) == "done"
            assert queue.submit(b"cat", delay="100ms").result(LIMIT_S) == "done"
            assert "rotten" in str(queue.submit(b"rotten").exception(LIMIT_S))
        finally:
            queue.stop()
            thread.join()
    with barnabas.Consumer(closed.bootstrap, "dead") as letters:
        assert wait_until(lambda: letters.poll(0.5))[0].value == b"rotten"
