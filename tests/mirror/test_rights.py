"""`barnabas mirror rights`: what it prints is what a flow needs in both clusters."""

import asyncio
import shlex
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import barnabas
from barnabas.client.admin.acls import AclBinding, create_acls
from barnabas.client.rights.right import Right
from barnabas.errors import NotAuthorized
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.flow_run import FlowRun
from barnabas.mirror.rights import source_rights, target_rights
from tests.cli.conftest import Cli
from tests.support.access import CLOSED
from tests.support.sasl import ADMIN, SECURITY, SaslBroker
from tests.support.wait import LIMIT_S, wait_until, wait_until_async

USER = ADMIN[0]
CAROL = SECURITY | {"sasl.username": "carol", "sasl.password": "hatter"}
COPIES = "read,write,create,alter,describe_configs,alter_configs"
NOWHERE = ("--from", "A=localhost:1", "--to", "B=localhost:2")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SaslBroker, SaslBroker]]:
    """Two brokers with access rules; whoever does not sign in is a super user."""
    with ExitStack() as stack:
        source, target = [
            stack.enter_context(SaslBroker(tmp_path_factory.mktemp(name), CLOSED))
            for name in ("source", "target")
        ]
        with (
            barnabas.Producer(source.bootstrap) as producer,
            barnabas.Admin(source.bootstrap) as admin,
        ):
            admin.create_topic("orders")
            producer.send("orders", b"first")
        yield source, target


@pytest.fixture
def options(closed: tuple[SaslBroker, SaslBroker], tmp_path: Path) -> list[str]:
    return options_of(closed, tmp_path, "orders")


def options_of(
    closed: tuple[SaslBroker, SaslBroker],
    folder: Path,
    topics: str,
    names: str = "AB",
    security: Mapping[str, str] = SECURITY,
) -> list[str]:
    found = ["--topics", topics]
    for option, name, broker in zip(("from", "to"), names, closed, strict=True):
        path = folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in security.items()))
        found += [f"--{option}", f"{name}={broker.sasl_bootstrap}", f"--{option}-config", str(path)]
    return found


def printed(*options: str) -> tuple[list[str], list[str]]:
    """The commands for the source, and those for the target."""
    lines = Cli("localhost:1").ok("mirror", "rights", *options).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("# in B, "))
    assert lines[0].startswith("# in A, ")
    return lines[1:at], lines[at + 1 :]


@contextmanager
def running(mirrored: ConfiguredFlow) -> Iterator[None]:
    run = FlowRun(mirrored)
    loops: list[asyncio.AbstractEventLoop] = []

    async def copy() -> None:
        loops.append(asyncio.get_running_loop())
        await run.run()

    thread = threading.Thread(target=asyncio.run, args=[copy()])
    thread.start()
    try:
        yield
    finally:
        loops[0].call_soon_threadsafe(run.stop)
        thread.join()


def test_the_commands() -> None:
    source, target = printed(*NOWHERE, "--topics", r"orders,customers.*,a\.b", "--user", "m")
    assert source == [
        "barnabas acls add m read,describe_configs --topic orders",
        "barnabas acls add m read,describe_configs --topic customers --prefixed",
        "barnabas acls add m read,describe_configs --topic a.b",
        "barnabas acls add m describe --group '*'",
        "barnabas acls add m write,create,read --topic heartbeats",
        "barnabas acls add m read --topic mm2-offset-syncs.B.internal",
    ]
    assert target == [
        f"barnabas acls add m {COPIES} --topic A. --prefixed",
        "barnabas acls add m read --group 'barnabas-mirror.A->B' --prefixed",
        "barnabas acls add m write --transactional-id 'barnabas-mirror.A->B.' --prefixed",
        "barnabas acls add m read,write,create --topic mm2-offset-syncs.A.internal",
        "barnabas acls add m read --group '*'",
        "barnabas acls add m read,write,create --topic A.checkpoints.internal",
        "barnabas acls add m read,write,create --topic heartbeats",
    ]
    source, target = printed(
        *NOWHERE, "--topics", ".*", "--names", "identity", "--sync-acls", "--delete-topics"
    )
    assert "barnabas acls add USER read,describe_configs --topic '*'" in source
    assert "barnabas acls add USER describe --cluster" in source
    assert "barnabas acls add USER describe --group barnabas-mirror. --prefixed" in source
    assert "barnabas acls add USER describe --group barnabas-mirror. --prefixed" in target
    assert "barnabas acls add USER alter --cluster" in target
    assert any("delete" in each and "--topic '*'" in each for each in target)
    assert "barnabas acls add USER read,write,create --topic A.heartbeats" in target


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("orders",), [("orders", False)]),
        (("orders.eu", r"orders\.us"), [("orders.eu", False), ("orders.us", False)]),
        (("orders.*", "orders.+"), [("orders", True)]),
        ((r"eu\..*",), [("eu.", True)]),
        (("orders?",), [("order", True)]),
        ((r"a\.?b",), [("a", True)]),
        (("a|b",), [("*", False)]),
        (("a", "[ab].*"), [("*", False)]),
    ],
)
def test_expressions_are_covered(
    patterns: tuple[str, ...], expected: list[tuple[str, bool]]
) -> None:
    flow = Flow(ClusterEnd("A", "a:1"), ClusterEnd("B", "b:1"), patterns)
    found = [
        (each.name, each.prefixed)
        for each in source_rights(ConfiguredFlow(flow))
        if each.purpose == "topics of flow A->B"
    ]
    assert found == expected


def test_with_them_a_flow_runs_and_without_one_it_does_not_start(
    closed: tuple[SaslBroker, SaslBroker], options: list[str]
) -> None:
    ends = [
        ClusterEnd(name, broker.sasl_bootstrap, SECURITY)
        for name, broker in zip("AB", closed, strict=True)
    ]
    mirrored = ConfiguredFlow(Flow(*ends, ("orders",)))
    cli = Cli("localhost:1")
    source, target = printed(*options)
    assert f"acls add {USER} read" in source[0]
    held_back = target.pop(2)
    for broker, lines in zip(closed, (source, target), strict=True):
        for line in lines:
            cli.ok(*shlex.split(line)[1:], "--bootstrap", broker.bootstrap)

    done = cli.run("mirror", "rights", *options, "--check")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines()[1:] == [held_back]
    assert "missing in B: write on transactional id" in done.stderr.decode()
    with pytest.raises(NotAuthorized, match=r"flow A->B in cluster B .*lacks 1 right") as denied:
        asyncio.run(FlowRun(mirrored).run())
    assert held_back in str(denied.value)

    cli.ok(*shlex.split(held_back)[1:], "--bootstrap", closed[1].bootstrap)
    assert "none is missing" in cli.run("mirror", "rights", *options, "--check").stderr.decode()
    with running(mirrored), barnabas.Consumer(closed[1].bootstrap, "A.orders") as consumer:
        assert wait_until(lambda: consumer.poll(0.5))[0].value == b"first"


def test_a_right_that_is_taken_away_is_named(closed: tuple[SaslBroker, SaslBroker]) -> None:
    """With the operation, and the command that grants it again."""
    source, target = closed
    ends = [
        ClusterEnd(name, broker.sasl_bootstrap, SECURITY)
        for name, broker in zip("CD", closed, strict=True)
    ]
    mirrored = ConfiguredFlow(Flow(*ends, ("orders",)))
    writing = AclBinding(f"User:{USER}", "WRITE", "TOPIC", "C.", pattern_type="PREFIXED")

    async def run() -> None:
        for broker, rights in (
            (source, source_rights(mirrored)),
            (target, target_rights(mirrored)),
        ):
            async with barnabas.aio.Admin(broker.bootstrap) as admin:
                await admin.create_acls({rule_of(each): None for each in rights})
        copying = asyncio.create_task(FlowRun(mirrored).run())
        async with barnabas.aio.Consumer(target.bootstrap, "C.orders") as consumer:
            await wait_until_async(lambda: consumer.poll(0.5))
        async with barnabas.aio.Admin(target.bootstrap) as admin:
            await admin.delete_acls([writing])
        async with barnabas.aio.Producer(source.bootstrap) as producer:
            await producer.send("orders", b"second")
        async with asyncio.timeout(LIMIT_S):
            await copying

    with pytest.raises(NotAuthorized, match=r"write is not allowed .* write --topic C\.orders$"):
        asyncio.run(run())


def rule_of(right: Right) -> AclBinding:
    return AclBinding(
        f"User:{USER}",
        right.operation.name,
        right.resource_type.name,
        right.name,
        pattern_type="PREFIXED" if right.prefixed else "LITERAL",
    )


def test_narrower_rules_do_for_an_expression(
    closed: tuple[SaslBroker, SaslBroker], tmp_path: Path
) -> None:
    """A flow copies the topic that it may see, though it may create none and sees no other flow."""
    rules: tuple[list[tuple[str, str, str, bool]], ...] = (
        [("READ", "TOPIC", "ordersA", False)],
        [
            *((operation, "TOPIC", "E.ordersA", False) for operation in ("READ", "WRITE")),
            *(
                (operation, "TOPIC", "mm2-offset-syncs.E.internal", False)
                for operation in ("READ", "WRITE", "CREATE")
            ),
            *(
                ("READ", "GROUP", f"barnabas-mirror.E->W{end}", False)
                for end in ("", ".members", ".stop")
            ),
            ("WRITE", "TRANSACTIONAL_ID", "barnabas-mirror.E->W.", True),
        ],
    )

    async def allow(end: ClusterEnd, some: list[tuple[str, str, str, bool]]) -> None:
        async with end.client() as cluster:
            for operation, kind, name, prefixed in some:
                pattern = "PREFIXED" if prefixed else "LITERAL"
                rule = AclBinding("User:carol", operation, kind, name, pattern_type=pattern)
                await create_acls(cluster, [rule.acl])

    for broker, name, some in zip(closed, "EW", rules, strict=True):
        asyncio.run(allow(ClusterEnd(name, broker.bootstrap), some))
    source, target = closed
    with barnabas.Producer(source.bootstrap) as producer, barnabas.Admin(source.bootstrap) as admin:
        for topic in ("ordersA", "ordersB"):
            admin.create_topic(topic)
            producer.send(topic, b"one")
    with barnabas.Admin(target.bootstrap) as admin:
        admin.create_topic("E.ordersA")
    ends = [
        ClusterEnd(name, broker.sasl_bootstrap, CAROL)
        for name, broker in zip("EW", closed, strict=True)
    ]
    options = options_of(closed, tmp_path, "orders[AB]", "EW", CAROL)
    with (
        running(ConfiguredFlow(Flow(*ends, ("orders[AB]",)))),
        barnabas.Consumer(target.bootstrap, "E.ordersA") as consumer,
    ):
        assert wait_until(lambda: consumer.poll(0.5))[0].value == b"one"

    cli = Cli("localhost:1")
    done = cli.run("mirror", "rights", *options, "--check")
    assert done.returncode == 0, done.stderr
    assert "missing in E, optional: read on topic orders*" in done.stderr.decode()
    asyncio.run(allow(ClusterEnd("E", source.bootstrap), [("DESCRIBE", "TOPIC", "ordersB", False)]))
    done = cli.run("mirror", "rights", *options, "--check")
    assert done.returncode == 1
    assert "missing in E: read on topic ordersB" in done.stderr.decode()


def test_rules_of_an_administrator_are_asked_for_both(
    closed: tuple[SaslBroker, SaslBroker],
) -> None:
    """With --user, by the rules; one is granted in the source alone."""
    source = ClusterEnd("A", closed[0].bootstrap)

    async def allow() -> None:
        async with source.client() as cluster:
            await create_acls(cluster, [AclBinding("User:bob", "READ", "TOPIC", "*").acl])

    asyncio.run(allow())
    names = ("--from", f"A={closed[0].bootstrap}", "--to", f"B={closed[1].bootstrap}")
    done = Cli("localhost:1").run(
        "mirror", "rights", *names, "--topics", ".*", "--user", "bob", "--check"
    )
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "missing in A: read on topic" not in said
    assert "missing in A, optional: describe_configs on topic *" in said
    assert "missing in B, optional: read on topic A.*" in said
    assert "missing in B: read on group barnabas-mirror.A->B" in said
