"""Avro, Protobuf and JSON of a schema registry, shown, searched, masked and downloaded."""

import json
from base64 import b64encode
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import fastavro
import pyarrow.parquet as pq
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from playwright.sync_api import expect

import barnabas
from tests.console.browser import WAIT_MS, Visit, chromium
from tests.console.console_process import ConsoleProcess

expect.set_options(timeout=WAIT_MS)

TOPIC = "coded"
PLACE = {"type": "record", "name": "shop.Place", "fields": [{"name": "city", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}},
        {"name": "to", "type": "shop.Place"},
    ],
}


def payment_file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="payment.proto", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    other = file.message_type.add(name="Other")
    nested = other.nested_type.add(name="Payment")
    field = descriptor_pb2.FieldDescriptorProto
    nested.field.add(name="card_number", number=1, type=field.TYPE_STRING, label=1)
    nested.field.add(
        name="at",
        number=2,
        type=field.TYPE_MESSAGE,
        label=1,
        type_name=".google.protobuf.Timestamp",
    )
    return file


def payment() -> bytes:
    pool = descriptor_pool.DescriptorPool()
    stamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    pool.Add(stamp)
    pool.Add(payment_file())
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("Other.Payment"))
    made: Any = kind(card_number="4111")
    made.at.seconds = 1_000
    data: bytes = made.SerializeToString()
    return data


class Registry(BaseHTTPRequestHandler):
    """What a registry answers about three schemas."""

    asked: ClassVar[list[tuple[str, str | None]]] = []
    serialized = b64encode(payment_file().SerializeToString()).decode()
    place: ClassVar[dict[str, Any]] = {"name": "shop.Place", "subject": "place", "version": 2}
    answers: ClassVar[dict[str, dict[str, Any]]] = {
        "/schemas/ids/1": {"schema": json.dumps(ORDER), "references": [place]},
        "/subjects/place/versions/2": {"schema": json.dumps(PLACE)},
        "/schemas/ids/2": {"schema": "message Other {…}", "schemaType": "PROTOBUF"},
        "/schemas/ids/2?format=serialized": {"schema": serialized, "schemaType": "PROTOBUF"},
        "/schemas/ids/3": {"schema": "{}", "schemaType": "JSON"},
        "/subjects/sent-value/versions/latest": {
            "subject": "sent-value",
            "version": 4,
            "id": 1,
            "schema": json.dumps(ORDER),
            "references": [place],
        },
        "/subjects/sent-key/versions/latest": {
            "subject": "sent-key",
            "version": 1,
            "id": 2,
            "schema": "message Other {…}",
            "schemaType": "PROTOBUF",
        },
    }

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Authorization"]))
        found = self.answers.get(self.path)
        self.send_response(404 if found is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(found or {"error_code": 40403}).encode())

    def log_message(self, *_: object) -> None:
        pass


def coded(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    named: dict[str, Any] = {}
    fastavro.parse_schema(PLACE, named)
    order = fastavro.parse_schema(ORDER, named)
    buffer = BytesIO()
    fastavro.schemaless_writer(
        buffer, order, {"id": 7, "amount": Decimal(12), "to": {"city": "Graz"}}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://ada:s%40cret@127.0.0.1:{server.server_port}/"
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        with barnabas.Admin(servers) as admin, barnabas.Producer(servers) as producer:
            admin.create_topic(TOPIC, partitions=1)
            admin.create_topic("sent", partitions=1)
            for value in (
                coded(1, buffer.getvalue()),
                coded(2, b"\x04\x00\x00" + payment()),  # two indexes: 0, and there 0
                coded(3, b'{"plain": true}'),
                coded(1, b"\xff\xff"),
                coded(99, b"\xff"),
                b"text",
            ):
                producer.send(TOPIC, value, coded(3, b'{"k": 1}'), headers=[("h", b"1")])
        log = tmp_path_factory.mktemp("schemas") / "console.log"
        options = ("--registry", url, "--mask", f"{TOPIC}:$.card_number")
        with ConsoleProcess(servers, log, *options) as running:
            yield running
    server.shutdown()


def test_records_are_shown_as_their_schemas_say(console: ConsoleProcess) -> None:
    path = f"/api/topics/{TOPIC}/messages"
    messages = console.get(f"{path}?from=beginning")["messages"]
    values = [each["value"] for each in messages]
    assert json.loads(values[0]["text"]) == {"id": 7, "amount": "12", "to": {"city": "Graz"}}
    assert (values[0]["schema"], values[0]["schema_id"], values[0]["kind"]) == ("avro", 1, "json")
    assert json.loads(values[1]["text"]) == {"card_number": "•••", "at": "1970-01-01T00:16:40Z"}
    assert (values[1]["schema"], values[1]["size"]) == ("protobuf", 5 + 3 + len(payment()))
    assert (values[2]["text"], values[2]["schema"]) == ('{"plain": true}', "json")
    assert "does not match" in values[3]["problem"]
    assert values[4]["problem"] == "the registry does not have it"
    assert "schema_id" not in values[5]
    assert {each["key"]["text"] for each in messages} == {'{"k": 1}'}
    assert json.loads(console.get(f"{path}/0/0")["value"]["pretty"])["id"] == 7
    console.get(path)
    assert [path for path, _ in Registry.asked].count("/schemas/ids/1") == 1
    assert {user for _, user in Registry.asked} == {"Basic YWRhOnNAY3JldA=="}
    status, _, body = console.ask("/api/session")
    assert (status, b"cret" in body, b'"registry":true' in body) == (200, False, True)


def test_fields_of_schemas_are_searched(console: ConsoleProcess) -> None:
    base = f"/api/topics/{TOPIC}/search?mode=expression&query="
    for query, offsets in (("$.to.city%20==%20%22Graz%22", [0]), ("$.card_number=='4111'", [])):
        _, _, body = console.ask(base + query)
        found = [json.loads(line) for line in body.splitlines()]
        assert [each["match"]["offset"] for each in found if "match" in each] == offsets


def test_a_message_is_checked_and_encoded_by_the_schemas_of_its_topic(
    console: ConsoleProcess,
) -> None:
    base = "/api/topics/sent"
    offered = console.get(f"{base}/schemas")
    assert (offered["value"]["version"], offered["value"]["kind"]) == (4, "avro")
    assert offered["key"]["messages"] == ["Other", "Other.Payment"]
    assert console.get(f"/api/topics/{TOPIC}/schemas") == {"key": None, "value": None}
    assert console.ask("/api/topics/unknown/schemas")[0] == 404
    order = {"id": 7, "amount": "12", "to": {"city": "Graz"}}
    body = {
        "value": json.dumps(order),
        "value_encoding": "schema",
        "key": '{"card_number": "4111"}',
        "key_encoding": "schema",
        "key_message": "Other.Payment",
    }
    sent = console.change("POST", f"{base}/messages", body)
    found = console.get(f"{base}/messages/0/{sent['offset']}")
    assert json.loads(found["value"]["text"]) == order
    assert (found["value"]["schema_id"], found["key"]["schema"]) == (1, "protobuf")
    assert json.loads(found["key"]["text"]) == {"card_number": "4111"}
    wrong = {**body, "value": json.dumps({**order, "to": {"city": 5}})}
    for change, said in (
        (wrong, "value.to.city: expected string, got a number"),
        ({**body, "value": "{"}, "value: it is not JSON"),
        ({**body, "key": '{"card": 1}'}, "key: "),
    ):
        status, _, answer = console.try_change("POST", f"{base}/messages", change)
        assert status == 400
        assert said in json.loads(answer)["error"]["message"]
    status, _, answer = console.try_change("POST", f"/api/topics/{TOPIC}/messages", body)
    assert (status, b"no subject coded-" in answer) == (400, True)
    asked = len(Registry.asked)  # whose schemas tell nothing to a user that can't see the topic
    assert console.try_change("POST", "/api/topics/unknown/messages", wrong)[0] == 404
    assert len(Registry.asked) == asked


def test_the_form_offers_the_schema(console: ConsoleProcess) -> None:
    with chromium() as browser:
        visit = Visit(browser, console.url)
        page = visit.open("/topics/sent")
        page.get_by_role("button", name="Send a message").click()
        form = page.get_by_role("dialog")
        chosen = form.get_by_label("The value is")
        expect(chosen).to_have_value("schema")
        expect(chosen).to_contain_text("JSON by schema sent-value, version 4 (Avro)")
        form.get_by_label("Value", exact=True).fill('{"id": 1, "amount": "3", "to": {"city": 5}}')
        form.get_by_role("button", name="Send", exact=True).click()
        expect(form.get_by_role("alert")).to_contain_text("value.to.city: expected string")
        form.get_by_label("Value", exact=True).fill('{"id": 1, "amount": "3", "to": {"city": "X"}}')
        form.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".toast")).to_contain_text("Sent to partition 0")
        visit.complaints = [each for each in visit.complaints if "400" not in each]
        visit.check()
        visit.close()


def test_a_download_as_parquet(console: ConsoleProcess, tmp_path: Path) -> None:
    path = f"/api/topics/{TOPIC}/download?from=beginning&format=parquet"
    status, headers, body = console.ask(path)
    assert (status, headers["content-disposition"]) == (
        200,
        f'attachment; filename="{TOPIC}.parquet"',
    )
    (tmp_path / "file").write_bytes(body)
    rows = pq.read_table(tmp_path / "file").to_pylist()
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert json.loads(rows[0]["value"])["to"] == {"city": "Graz"}
    assert b"4111" not in body
    assert rows[5]["headers"] == [{"name": "h", "value": b"1"}]
    assert rows[0]["timestamp"].tzinfo is not None
