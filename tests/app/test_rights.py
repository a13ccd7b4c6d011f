"""The rights of an application: printed as commands, checked by a command and at the start."""

import asyncio
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas import App
from barnabas.app.rights import rights_of
from barnabas.client.rights.grants import grant_commands
from barnabas.errors import NotAuthorized
from barnabas.wire.acl_codes import AclOperation
from tests.cli.conftest import Cli
from tests.support.access import CLOSED
from tests.support.sasl import SECURITY, SaslBroker
from tests.support.wait import wait_until_async

SOURCE = """
import barnabas

app = barnabas.App("{servers}", title="orders", security={security!r}, sends=["audit"])


@app.handler(
    "orders", group="billing", dead_letters="orders-dead", produces="invoices",
    retry_topics=["30s"],
)
def bill(order: str) -> str:
    return order


@app.handler("payments", group="book", produces="booked", exactly_once=True)
def book(payment: str, total: barnabas.State[int]) -> str:
    return payment


@app.schedule(every="1s", produces="reports", group="reporting")
def report() -> str:
    return "report"
"""
COMMANDS = [
    "barnabas acls add alice read,describe_configs --topic orders",
    "barnabas acls add alice read --group billing",
    "barnabas acls add alice read,write,create --topic orders.retry.30s",
    "barnabas acls add alice read --group billing.retry",
    "barnabas acls add alice write --topic invoices",
    "barnabas acls add alice write,create --topic orders-dead",
    "barnabas acls add alice read,describe_configs --topic payments",
    "barnabas acls add alice read --group book",
    "barnabas acls add alice write --topic booked",
    "barnabas acls add alice read,write,create --topic book.book.total.changelog",
    "barnabas acls add alice write --transactional-id book.book. --prefixed",
    "barnabas acls add alice write --topic reports",
    "barnabas acls add alice read,write,create --topic reporting.schedules",
    "barnabas acls add alice read --group reporting.schedules",
    "barnabas acls add alice write --transactional-id reporting.schedules",
    "barnabas acls add alice write --topic audit",
]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with access rules; whoever does not sign in is a super user."""
    with SaslBroker(tmp_path_factory.mktemp("closed"), CLOSED) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            for name in ("orders", "invoices", "payments", "booked", "reports", "audit"):
                admin.create_topic(name)
        yield broker


@pytest.fixture
def cli(closed: SaslBroker) -> Iterator[Cli]:
    """Commands of an administrator; rules and topics made in a test are deleted after it."""
    with barnabas.Admin(closed.bootstrap) as admin:
        before = admin.topics().keys()
        yield Cli(closed.bootstrap)
        admin.delete_acls(admin.acls())
        for name in admin.topics().keys() - before:
            admin.delete_topic(name)


@pytest.fixture
def module(closed: SaslBroker, tmp_path: Path) -> Path:
    path = tmp_path / "rights_of_orders.py"
    path.write_text(SOURCE.format(servers=closed.sasl_bootstrap, security=SECURITY))
    return path


def loaded(module: Path) -> App:
    names: dict[str, Any] = {}
    exec(module.read_text(), names)
    return names["app"]  # type: ignore[no-any-return]


def grant(cli: Cli, commands: list[str]) -> None:
    for command in commands:
        cli.ok(*shlex.split(command)[1:])


ITS_OWN = {"BARNABAS_BOOTSTRAP": ""}
"""The cluster that the application names."""


def check(cli: Cli, module: Path, *options: str) -> tuple[int, list[str], str]:
    done = cli.run("app", "rights", str(module), "--check", *options, environment=ITS_OWN)
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


def test_a_command_prints_what_the_handlers_need(cli: Cli, module: Path) -> None:
    assert cli.ok("app", "rights", str(module)).splitlines() == COMMANDS
    other = cli.ok("app", "rights", str(module), "--user", "the bill").splitlines()
    assert other[0] == "barnabas acls add 'the bill' read,describe_configs --topic orders"
    found = json.loads(cli.ok("app", "rights", str(module), "--json"))
    (of_book,) = [each for each in found if each["resource_name"] == "book.book."]
    assert of_book == {
        "operation": "WRITE",
        "resource_type": "TRANSACTIONAL_ID",
        "resource_name": "book.book.",
        "pattern_type": "PREFIXED",
        "purpose": "handler book",
        "optional": False,
    }


def test_share_groups_need_rights_for_their_settings_too() -> None:
    app = App(title="mails")

    @app.handler("mails", group="mailers", share=True)
    def send(mail: str) -> None: ...

    found = rights_of(app.handlers.values())
    assert grant_commands(found, "m") == [
        "barnabas acls add m read --topic mails",
        "barnabas acls add m read,describe_configs,alter_configs --group mailers",
        "barnabas acls add m write --topic mails.results",
    ]
    assert [each.is_optional for each in found] == [False, False, True, True, True]


def test_a_handler_that_continues_jobs_writes_their_results() -> None:
    app = App(title="mails")

    @app.handler("mails", group="mailers", share=True, results_of=["orders", "mails"])
    def send(mail: str) -> None: ...

    found = rights_of(app.handlers.values())
    written = [each for each in found if each.operation is AclOperation.WRITE]
    assert [each.name for each in written] == ["mails.results", "orders.results"]
    assert all(each.is_optional for each in written)


DELAYS = """
import barnabas

app = barnabas.App("{servers}", title="diary", security={security!r}, sends=["notes"])


@app.handler("notes", group="diary", produces="diary")
def write(note: str) -> str:
    return note
"""


def test_records_for_later_need_more(cli: Cli, tmp_path: Path, closed: SaslBroker) -> None:
    """With the printed rights, and no more, one is sent and handled."""
    module = tmp_path / "rights_of_diary.py"
    module.write_text(DELAYS.format(servers=closed.sasl_bootstrap, security=SECURITY))
    with barnabas.Admin(closed.bootstrap) as admin:
        for name in ("notes", "diary"):
            admin.create_topic(name)
    commands = cli.ok("app", "rights", str(module), "--delays").splitlines()
    assert commands == [
        "barnabas acls add alice read,write,describe_configs --topic notes",
        "barnabas acls add alice read --group diary",
        "barnabas acls add alice write --topic diary",
        "barnabas acls add alice read,write,delete,create --topic notes.delayed",
        "barnabas acls add alice read --group notes.delayed",
        "barnabas acls add alice write --transactional-id notes.delayed --prefixed",
    ]
    grant(cli, commands)
    assert check(cli, module, "--delays")[0] == 0

    async def run() -> None:
        app = loaded(module)
        async with (
            app.started(),
            barnabas.aio.Consumer(closed.bootstrap, "diary") as consumer,
        ):
            await app.send("notes", "dear diary", delay="100ms")
            (written,) = await wait_until_async(lambda: consumer.poll(0.1))
            assert written.value == b"dear diary"

    asyncio.run(run())


def test_the_printed_commands_are_exactly_what_is_missing(cli: Cli, module: Path) -> None:
    assert check(cli, module)[:2] == (1, COMMANDS)
    for index, command in enumerate(COMMANDS):
        grant(cli, [command])
        code, left, said = check(cli, module)
        assert left == COMMANDS[index + 1 :], said
    assert code == 0
    assert said.strip() == "25 rights checked, none is missing"


def test_an_administrator_asks_about_a_user(cli: Cli, module: Path, closed: SaslBroker) -> None:
    options = ("--user", "alice", "--bootstrap", closed.bootstrap, "--command-config")
    open_to_all = module.with_name("open.properties")
    open_to_all.write_text("security.protocol=PLAINTEXT\n")
    assert check(cli, module, *options, str(open_to_all))[:2] == (1, COMMANDS)
    grant(cli, COMMANDS[:-1])
    assert check(cli, module, *options, str(open_to_all))[:2] == (1, COMMANDS[-1:])
    grant(cli, COMMANDS[-1:])
    assert check(cli, module, *options, str(open_to_all))[:2] == (0, [])


def test_the_file_names_the_brokers(cli: Cli, module: Path, closed: SaslBroker) -> None:
    module.write_text(module.read_text().replace(closed.sasl_bootstrap, "localhost:1"))
    settings = module.with_name("open.properties")
    settings.write_text(f"bootstrap.servers={closed.bootstrap}\nsecurity.protocol=PLAINTEXT\n")
    options = ("--user", "alice", "--command-config", str(settings))
    assert check(cli, module, *options)[:2] == (1, COMMANDS)


def test_variables_name_the_cluster_as_for_other_commands(
    cli: Cli, module: Path, closed: SaslBroker, tmp_path: Path
) -> None:
    """Of `app rights`, and of `app run`, which is refused by the cluster that they name."""
    module.write_text(
        SOURCE.format(servers="localhost:1", security={"security.protocol": "PLAINTEXT"})
    )
    lines = {"bootstrap.servers": closed.sasl_bootstrap, **SECURITY}
    config = tmp_path / "alice.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    named = {"BARNABAS_BOOTSTRAP": "", "BARNABAS_COMMAND_CONFIG": str(config)}
    secured = {
        f"BARNABAS_{name.upper().replace('.', '_')}": text for name, text in SECURITY.items()
    }
    for each in (named, {"BARNABAS_BOOTSTRAP": closed.sasl_bootstrap, **secured}):
        done = cli.run("app", "rights", str(module), "--check", environment=each)
        assert done.stdout.decode().splitlines() == COMMANDS
        done = cli.run("app", "run", str(module), environment=each)
        assert "application orders (user alice) lacks" in done.stderr.decode()


def test_topics_that_exist_need_not_be_created(cli: Cli, module: Path, closed: SaslBroker) -> None:
    grant(cli, [each.replace(",create", "") for each in COMMANDS])
    created = [
        "barnabas acls add alice create --topic orders.retry.30s",
        "barnabas acls add alice create --topic orders-dead",
        "barnabas acls add alice create --topic book.book.total.changelog",
        "barnabas acls add alice create --topic reporting.schedules",
    ]
    assert check(cli, module)[:2] == (1, created)
    with barnabas.Admin(closed.bootstrap) as admin:
        admin.create_topic("orders-dead")
        admin.create_topic("orders.retry.30s")
        admin.create_topic("book.book.total.changelog")
        admin.create_topic("reporting.schedules")
    assert check(cli, module)[:2] == (0, [])


def test_an_application_without_its_rights_does_not_start(cli: Cli, module: Path) -> None:
    grant(cli, [each for each in COMMANDS if "orders-dead" not in each])

    async def start() -> None:
        async with loaded(module).started():
            raise AssertionError("it has started")

    with pytest.raises(NotAuthorized) as caught:
        asyncio.run(start())
    assert str(caught.value).splitlines() == [
        "application orders (user alice) lacks 2 rights; an administrator grants them with:",
        "  barnabas acls add alice write,create --topic orders-dead",
    ]
    done = cli.run("app", "run", str(module), environment=ITS_OWN)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"error: {caught.value}")


def test_an_application_with_the_printed_rights_works(
    cli: Cli, module: Path, closed: SaslBroker
) -> None:
    grant(cli, COMMANDS)
    app = loaded(module)

    async def run() -> None:
        async with app.started():
            await app.send("audit", "begun")
            with barnabas.Producer(closed.bootstrap) as producer:
                producer.send("payments", b"5 EUR", key=b"ada")
                producer.send("orders", b"tea")
                producer.send("orders", b"\xff")  # a dead letter
            await wait_until_async(lambda: app.failure or all(map(done, app.handlers)))
            await until_reported()
            assert app.failure is None

    async def until_reported() -> None:
        async with barnabas.aio.Consumer(closed.bootstrap, "reports") as consumer:
            await wait_until_async(lambda: consumer.poll(0.1))

    def done(name: str) -> bool:
        return app.handlers[name].statistics.handled >= (2 if name == "bill" else 1)

    asyncio.run(run())
    expected = {
        "booked": b"5 EUR",
        "invoices": b"tea",
        "orders-dead": b"\xff",
        "reports": b"report",
    }
    with barnabas.Consumer(closed.bootstrap, list(expected)) as consumer:
        found: dict[str, bytes] = {}
        while len(found) < len(expected):
            found |= {each.topic: each.value for each in consumer.poll(120)}
    assert found == expected
