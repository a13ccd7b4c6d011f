"""Records for the page: cut, never HTML, and exact where they are shown as a whole."""

import json

from barnabas.console.answers import json_bytes
from barnabas.console.messages.masking import Masks
from barnabas.console.messages.ranges import Found, TransactionState
from barnabas.console.messages.shown import WHOLE, content, show
from barnabas.console.messages.view import View
from barnabas.console.schemas.decoding import Schemas
from barnabas.records.message import Message


def test_kinds() -> None:
    assert content(None, 100)["kind"] == "null"
    assert content(b"", 100) == {"kind": "text", "text": "", "size": 0, "truncated": False}
    assert content(b"hello", 100)["kind"] == "text"
    assert content(b'{"a": 1}', 100)["kind"] == "json"
    assert content(b"{not json", 100)["kind"] == "text"
    assert content(b"\xff\x00", 100) == {
        "kind": "binary",
        "text": "ff00",
        "size": 2,
        "truncated": False,
    }
    assert content(bytes(range(20)), 100)["kind"] == "binary"
    assert content(b"[" * 100_000, WHOLE)["kind"] == "text"


def test_the_id_of_a_schema() -> None:
    assert content(b"\x00\x00\x00\x01\x02\xff\x06", 100)["schema_id"] == 258
    assert "schema_id" not in content(b"\x01\xff\x00\x00\x00", 100)


def test_a_large_value_is_cut() -> None:
    shown = content(b"x" * 5_000_000, 1_000)
    assert (len(shown["text"]), shown["size"], shown["truncated"]) == (1_000, 5_000_000, True)
    assert content(b"\xff" * 5_000_000, 1_000)["truncated"]
    assert len(content(b"\xff" * 5_000_000, 1_000)["text"]) == 1_000


def test_long_numbers_survive_indentation() -> None:
    shown = content(b'{"id": 12345678901234567890123}', WHOLE)
    assert "12345678901234567890123" in shown["pretty"]
    assert "pretty" not in content(b'{"a": 1}', 100)


def test_answers_are_no_html_and_survive_any_text() -> None:
    hostile = "<script>\u2028\ud800"
    assert b"<" not in json_bytes({"a": hostile})
    assert json.loads(json_bytes({"a": hostile})) == {"a": hostile}


def test_a_whole_record() -> None:
    headers = tuple((f"h{n}", b"x") for n in range(150))
    found = Found(Message("t", 1, 2, 3, b"k", b"v", headers), TransactionState.ABORTED)
    shown = show(found, View(Masks([]), Schemas(None)))
    assert (shown["partition"], shown["offset"], shown["timestamp"]) == (1, 2, 3)
    assert (len(shown["headers"]), shown["header_count"]) == (100, 150)
    assert shown["transaction"] == "aborted"
    assert not shown["masked"]
