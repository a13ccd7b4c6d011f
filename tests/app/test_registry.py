"""Handlers whose values have schemas in a registry."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

import barnabas
from barnabas import App, Consumer, Message, Outgoing, Producer, SentTo, State
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.formats import Registry
from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.schemas import avro_of
from tests.registry.registry_process import RegistryProcess, registries
from tests.support.ports import free_ports
from tests.support.wait import LIMIT_S, wait_until


@dataclass
class Order:
    id: str
    amount: int = 1


@dataclass
class Invoice:
    order: str
    total: float


@pytest.fixture(scope="module")
def registry(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with registries(tmp_path_factory.mktemp("registry"), bootstrap) as make:
        yield make()


@pytest.fixture
def names(bootstrap: str, request: pytest.FixtureRequest) -> tuple[str, str]:
    """A topic of orders, and one of invoices."""
    name = request.node.name.replace("[", ".").replace("]", "")[-60:]
    with barnabas.Admin(bootstrap) as admin:
        for topic in (f"{name}.orders", f"{name}.invoices"):
            admin.create_topic(topic)
    return f"{name}.orders", f"{name}.invoices"


def sent(bootstrap: str, topic: str, value: Any, registry: RegistryProcess, name: Any) -> None:
    own = Registry(registry.url, register=True)
    with Producer(bootstrap, value=type(value), value_format=name, registry=own) as producer:
        producer.send(topic, value)


def read(bootstrap: str, topic: str, count: int, **options: Any) -> list[Any]:
    with Consumer(bootstrap, topic, **options) as consumer:
        found: list[Any] = []
        for message in consumer:
            found.append(message.value)
            if len(found) == count:
                return found
    raise AssertionError


KINDS = ["async", "plain", "share", "batch", "once"]


@pytest.mark.parametrize("name", ["avro", "json-schema"])
@pytest.mark.parametrize("how", KINDS)
def test_models_are_taken_and_returned(
    bootstrap: str, registry: RegistryProcess, names: tuple[str, str], how: str, name: Any
) -> None:
    orders, invoices = names
    sent(bootstrap, orders, Order("a", 2), registry, name)
    own = Registry(registry.url, register=True)
    app = App(bootstrap, registry=own, value_format=name)
    options: Any = {"group": f"g.{orders}", "produces": invoices}
    if how == "plain":

        @app.handler(orders, **options)
        def bill(order: Order) -> Invoice:
            return Invoice(order.id, order.amount * 1.5)

    elif how == "batch":

        @app.handler(orders, **options)
        async def bill_all(all_orders: list[Order]) -> list[Invoice]:
            return [Invoice(each.id, each.amount * 1.5) for each in all_orders]

    else:
        options |= {"share": True} if how == "share" else {}
        options |= {"exactly_once": True} if how == "once" else {}

        @app.handler(orders, **options)
        async def bill_one(message: Message[str | None, Order]) -> Invoice | None:
            return Invoice(message.value.id, message.value.amount * 1.5)

    running(app, lambda: check(bootstrap, registry, invoices, name))
    assert registry.get(f"/subjects/{invoices}-value/versions") == [1]


def check(bootstrap: str, registry: RegistryProcess, invoices: str, name: Any) -> None:
    options: Any = {"value": Invoice, "value_format": name, "registry": registry.url}
    assert read(bootstrap, invoices, 1, **options) == [Invoice("a", 3.0)]


def running(app: App, function: Any) -> None:
    """Call a function in another thread while the application runs."""

    async def run() -> None:
        async with app.started():
            await asyncio.wait_for(asyncio.to_thread(function), LIMIT_S)

    asyncio.run(run())


def test_bad_records_become_dead_letters_and_sends_have_schemas(
    bootstrap: str, registry: RegistryProcess, names: tuple[str, str]
) -> None:
    orders, invoices = names
    own = Registry(registry.url, register=True)
    app = App(bootstrap, registry=own)
    with Producer(bootstrap) as producer:
        producer.send(orders, b"plain")
        producer.send(orders, b"\0\x7f\0\0\0...")

    @app.handler(orders, group=f"g.{orders}", dead_letters=f"{orders}.dead")
    async def bill(order: Order) -> None:
        await app.send(invoices, Invoice(order.id, 1))

    @app.handler(orders, group=f"h.{orders}", on_failure="skip", produces=f"{orders}.other")
    def other(order: Order | None) -> Outgoing | None:
        return None if order is None else Outgoing(Order("z"), topic=invoices + ".2")

    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(f"{invoices}.2")

    def look() -> None:
        sent(bootstrap, orders, Order("a", 2), registry, "avro")
        dead = read(bootstrap, f"{orders}.dead", 2)
        assert dead == [b"plain", b"\0\x7f\0\0\0..."]
        options: Any = {"value_format": "avro", "registry": registry.url}
        assert read(bootstrap, invoices, 1, **options) == [{"order": "a", "total": 1.0}]
        assert read(bootstrap, f"{invoices}.2", 1, **options) == [{"id": "z", "amount": 1}]

    running(app, look)


def test_an_application_whose_results_have_no_schema_does_not_start(
    bootstrap: str, registry: RegistryProcess, names: tuple[str, str]
) -> None:
    orders, invoices = names
    app = App(bootstrap, registry=registry.url)

    @app.handler(orders, group=f"g.{orders}")
    async def bill(order: Order) -> Annotated[Invoice, SentTo(invoices)]:
        return Invoice(order.id, 1)

    with pytest.raises(BarnabasError, match=f"schema of Invoice is not registered .*{invoices}"):
        running(app, lambda: None)
    registry.register(f"{invoices}-value", json.dumps(avro_of(Invoice)))
    running(app, lambda: None)


def test_handlers_wait_for_a_registry_that_is_down(
    bootstrap: str, registry: RegistryProcess, names: tuple[str, str], caplog: Any
) -> None:
    orders, _ = names
    sent(bootstrap, orders, Order("a", 2), registry, "avro")
    down = Registry(f"http://127.0.0.1:{free_ports(1)[0]}")
    app = App(bootstrap, registry=down)
    handled = threading.Event()

    @app.handler(orders, group=f"g.{orders}", on_failure="stop")
    async def bill(order: Order) -> None:
        assert order == Order("a", 2)
        handled.set()

    def mend() -> None:
        wait_until(lambda: "no answer from the schema registry" in caplog.text)
        assert not handled.is_set()
        down.client = Registry(registry.url).client
        assert handled.wait(LIMIT_S)

    running(app, mend)


class Denying(RegistryClient):
    """A registry that denies whatever it is asked for."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.asked: list[tuple[str, ...]] = []

    def call(self, _method: str, *path: str, **_: Any) -> Any:
        self.asked.append(path)
        raise RegistryAnswerError(40301, "User app is denied operation READ on payroll-value")


@pytest.mark.parametrize("options", [{}, {"share": True}], ids=["group", "share"])
def test_a_record_with_the_id_of_a_denied_schema_stops_nobody(
    bootstrap: str, names: tuple[str, str], options: dict[str, Any]
) -> None:
    """Anyone who may write to the topic can write such a record."""
    orders, _ = names
    registry = Registry("http://127.0.0.1:1")
    registry.client = Denying()
    app = App(bootstrap, registry=registry)
    bad = b"\0\0\0\0\7{}"
    with Producer(bootstrap) as producer:
        for value in (bad, bad, b"plain"):
            producer.send(orders, value)

    @app.handler(orders, group=f"g.{orders}", dead_letters=f"{orders}.dead", **options)
    async def bill(order: Order) -> None: ...

    def look() -> None:
        assert read(bootstrap, f"{orders}.dead", 3) == [bad, bad, b"plain"]

    running(app, look)


def test_handlers_of_plain_types_ask_no_registry(
    bootstrap: str, names: tuple[str, str], tmp_path: Path
) -> None:
    """The 8 bytes of a small int begin as those with the id of a schema do."""
    topic, _ = names
    registry = Registry("http://127.0.0.1:1")
    registry.client = denying = Denying()
    app = App(bootstrap, registry=registry, state_directory=tmp_path)
    handled: list[Any] = []
    with Producer(bootstrap, value=int) as producer:
        producer.send(topic, 5, key=b"k")

    @app.handler(topic, group=f"g.{topic}")
    async def take(number: int) -> None:
        handled.append(number)

    @app.handler(topic, group=f"h.{topic}", share=True)
    async def take_shared(number: int) -> None:
        handled.append(number)

    @app.handler(topic, group=f"i.{topic}")
    async def take_bytes(data: bytes, total: State[int]) -> None:
        handled.append(int.from_bytes(data))

    running(app, lambda: wait_until(lambda: handled == [5, 5, 5]))
    assert denying.asked == []


@pytest.mark.parametrize(
    ("hint", "is_asked"),
    [
        (Order, True),
        (Order | None, True),
        (list[Order], True),
        (Message[str, Order], True),
        (list[Message[str, Order]], True),
        (int, False),
        (bytes | None, False),
        (Order | int, False),
        (dict[str, int], False),
        (Message, False),
    ],
)
def test_only_models_need_schemas(hint: Any, is_asked: bool) -> None:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = hint
    for name, expected in (("avro", is_asked), ("json-schema", False)):
        app = App(registry="http://127.0.0.1:1", value_format=name)  # type: ignore[arg-type]
        app.handler("orders", group="g")(take)
        (handler,) = app.handlers.values()
        assert (handler.invocation.schemas is not None) is expected


def test_tests_in_memory_need_no_registry() -> None:
    app = App(registry=Registry("http://127.0.0.1:1", use_latest=True))

    @app.handler("orders", group="g", dead_letters="dead")
    async def bill(order: Order) -> Annotated[Invoice, SentTo("invoices")]:
        return Invoice(order.id, order.amount * 1.5)

    for _ in range(2):
        with app.test() as run:
            run.send("orders", Order("a", 2))
            assert run.values("invoices", Invoice) == [Invoice("a", 3.0)]
            assert run.records("invoices")[0].value[:5] == b"\0\0\0\0\1"
            run.send("orders", b"plain")
            assert "does not begin with the id" in run.dead_letters("dead")[0].reason
            with pytest.raises(InvalidArgument, match="amount: expected long, got 'two'"):
                run.send("orders", Order("a", "two"))  # type: ignore[arg-type]


def test_options_that_can_not_be_right() -> None:
    with pytest.raises(InvalidArgument, match=r'value_format="avro" of an App needs registry='):
        App(value_format="avro")
    with pytest.raises(InvalidArgument, match="write http://"):
        App(registry="localhost:8081")
