"""Parts of records that no page may show."""

import json

import pytest

from barnabas.console.messages.expression import text_test
from barnabas.console.messages.masking import MASK, Masks, parse_mask
from barnabas.console.messages.ranges import Found
from barnabas.console.messages.search import _matching
from barnabas.console.messages.view import View
from barnabas.console.schemas.decoding import Schemas
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

PAYMENT = Message(
    "payments-eu",
    0,
    5,
    1,
    b"4111",
    json.dumps(
        {"card": {"number": "4111", "name": "Ada"}, "items": [{"id": 1}, {"id": 2}]}
    ).encode(),
    (("auth", b"secret"), ("trace", b"1")),
)


def masked(*rules: str) -> Message:
    return Masks(map(parse_mask, rules)).apply(PAYMENT)


def test_a_path_into_json() -> None:
    value = json.loads(masked("payments*:$.card.number", "payments*:$.items.*.id").value)
    assert value == {"card": {"number": MASK, "name": "Ada"}, "items": [{"id": MASK}, {"id": MASK}]}


def test_an_item_of_a_list_and_what_is_missing() -> None:
    value = json.loads(masked("*:$.items.1", "*:$.nothing.here", "*:$.items.9.id").value)
    assert value["items"] == [{"id": 1}, MASK]


def test_whole_parts() -> None:
    assert masked("*:key").key == MASK.encode()
    assert masked("*:value").value == MASK.encode()
    assert masked("*:header.auth").headers == (("auth", MASK.encode()), ("trace", b"1"))
    assert {value for _, value in masked("*:headers").headers} == {MASK.encode()}


def test_other_topics_are_left_alone() -> None:
    assert masked("orders:value", "payments:value") == PAYMENT
    masks = Masks([parse_mask("payments*:value")])
    assert masks.cover("payments-eu")
    assert not masks.cover("orders")


@pytest.mark.parametrize("value", [b"not json 4111", b"4111", b'"4111"', b"[" * 100_000])
def test_a_value_that_can_not_be_read_is_masked_as_a_whole(value: bytes) -> None:
    masks = Masks([parse_mask("*:$.card.number")])
    assert masks.apply(PAYMENT._replace(value=value)).value == MASK.encode()
    assert masks.apply(PAYMENT._replace(value=None)).value is None


def test_a_search_does_not_tell_what_is_masked() -> None:
    masks = Masks([parse_mask("*:$.card.number"), parse_mask("*:key")])
    view = View(masks, Schemas(None))
    assert _matching([Found(PAYMENT, None)], text_test("4111"), view) == []
    assert _matching([Found(PAYMENT, None)], text_test("Ada"), view)


@pytest.mark.parametrize("text", ["", "orders", "orders:", ":key", "orders:cards", "orders:$.a."])
def test_a_rule_that_is_none(text: str) -> None:
    with pytest.raises(InvalidArgument, match="TOPICS:PART"):
        parse_mask(text)
