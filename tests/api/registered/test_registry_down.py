"""A registry that does not answer, and options that can't be right."""

import asyncio
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import barnabas
from barnabas.errors import InvalidArgument, RegistryUnreachable
from barnabas.formats import Registry
from tests.registry.registry_process import RegistryProcess
from tests.support.ports import free_ports
from tests.support.wait import LIMIT_S

GOOD = "http://localhost:8081"


@dataclass
class Line:
    sku: str


def test_it_is_named_and_what_was_not_sent_can_be_sent_later(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    down = f"http://127.0.0.1:{free_ports(1)[0]}"
    with (
        barnabas.Producer(servers, value=Line, value_format="avro", registry=down) as producer,
        pytest.raises(RegistryUnreachable, match=f"no answer .* at {down}"),
    ):
        producer.send(topic, Line("a"))
    own = Registry(registry.url, register=True)
    with barnabas.Producer(servers, value=Line, value_format="avro", registry=own) as producer:
        producer.send(topic, Line("a"))
    own = Registry(down)
    with barnabas.Consumer(
        servers, topic, value=Line, value_format="avro", registry=own
    ) as consumer:
        for _ in range(2):
            with pytest.raises(RegistryUnreachable, match=f"no answer .* at {down}"):
                consumer.poll(120)
        own.client = Registry(registry.url).client
        assert [each.value for each in consumer.poll(120)] == [Line("a")]


class Slow(BaseHTTPRequestHandler):
    """Answers when it may."""

    may = threading.Event()

    def do_POST(self) -> None:
        self.may.wait(LIMIT_S)
        body = b'{"subject": "s", "version": 1, "id": 1, "schema": "\\"string\\""}'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_loop_goes_on_while_a_registry_is_asked(servers: str, topic: str) -> None:
    server = HTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever).start()

    async def run() -> None:
        async with barnabas.aio.Producer(
            servers,
            value=Line,
            value_format="avro",
            registry=f"http://127.0.0.1:{server.server_port}",
        ) as producer:
            sending = asyncio.ensure_future(producer.send(topic, Line("a")))
            await asyncio.sleep(0.01)  # the loop runs
            assert not sending.done()
            Slow.may.set()
            with pytest.raises(InvalidArgument, match="expected a str"):
                await sending

    try:
        asyncio.run(run())
    finally:
        Slow.may.set()
        server.shutdown()
        server.server_close()


WRONG = [
    ({"value_format": "avro"}, 'value_format="avro" is for .* registry="http://localhost:8081"'),
    ({"registry": GOOD}, "registry= is not used"),
    ({"value_format": "avro", "registry": "localhost:8081"}, "write http://"),
    ({"value": int, "value_format": "avro", "registry": GOOD}, "int.* has no fields"),
    ({"value": Line, "value_format": "protobuf", "registry": GOOD}, "not a class of protobuf"),
    ({"value": object, "value_format": "json-schema", "registry": GOOD}, "has no fields"),
]


@pytest.mark.parametrize(("options", "problem"), WRONG)
def test_options_that_can_not_be_right(options: Any, problem: str) -> None:
    for kind in (barnabas.Producer, barnabas.Consumer):
        with pytest.raises(InvalidArgument, match=problem):
            kind("localhost:1", **options)


def test_a_registry_with_options_that_exclude_each_other() -> None:
    with pytest.raises(InvalidArgument, match="exclude each other"):
        Registry(GOOD, register=True, use_latest=True)
    with pytest.raises(InvalidArgument, match="subjects='table'"):
        Registry(GOOD, subjects="table")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"certificates='nowhere\.pem'"):
        Registry(GOOD, certificates="nowhere.pem")
