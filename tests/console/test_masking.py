"""Parts of records that no page may show."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.console.answers import ApiError
from barnabas.console.api.connectors import shown_connector
from barnabas.console.api.dead_letters import is_asked_for, replay_dead_letters
from barnabas.console.messages.expression import text_test
from barnabas.console.messages.masking import MASK, Masks, parse_mask
from barnabas.console.messages.ranges import Found
from barnabas.console.messages.search import _matching
from barnabas.console.messages.view import View
from barnabas.console.schemas.decoding import Schemas
from barnabas.dead_letters.letters import letter_of
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


# -- what quotes a record elsewhere ----------------------------------------------------------------


def letter(origin: str = "payments-eu", prefix: str = "dead-letter.") -> Message:
    """A payment that was given up; its topic has no rules."""
    said = {"topic": origin, "partition": "0", "offset": "5", "reason": "card 4111 is blocked"}
    headers = tuple((f"{prefix}{name}", text.encode()) for name, text in said.items())
    return PAYMENT._replace(topic="given-up", headers=(*PAYMENT.headers, *headers))


@pytest.mark.parametrize("prefix", ["dead-letter.", "__connect.errors."])
@pytest.mark.parametrize("part", ["$.card.number", "value"])
def test_a_dead_letter_is_masked_as_the_topic_it_came_from(part: str, prefix: str) -> None:
    masks = Masks([parse_mask(f"payments*:{part}")])
    seen = View(masks, Schemas(None)).of(letter(prefix=prefix))
    assert seen.value == MASK.encode()
    assert seen.key == b"4111", "no rule is about keys"
    headers = dict(seen.headers)
    assert headers[f"{prefix}reason"] == MASK.encode()
    assert headers[f"{prefix}topic"] == b"payments-eu"
    assert headers["trace"] == b"1"
    assert masks.cover_record(letter(prefix=prefix))


def test_keys_and_headers_of_dead_letters() -> None:
    masks = Masks([parse_mask("payments*:key"), parse_mask("payments*:header.auth")])
    seen = masks.apply(letter())
    assert (seen.key, seen.value) == (MASK.encode(), PAYMENT.value)
    assert dict(seen.headers)["auth"] == MASK.encode()
    hidden = Masks([parse_mask("given-up:headers"), parse_mask("payments*:key")]).apply(letter())
    assert hidden.key == MASK.encode(), "what a rule hides decides all the same"


def test_dead_letters_of_other_topics_are_shown() -> None:
    masks = Masks([parse_mask("payments*:value")])
    assert masks.apply(letter(origin="orders")) == letter(origin="orders")
    assert not masks.cover_record(letter(origin="orders"))


def test_the_filter_by_reason_does_not_tell_a_reason_that_is_masked() -> None:
    masks = Masks([parse_mask("payments*:$.card.number")])
    hidden, open_one = letter_of(letter()), letter_of(letter(origin="orders"))
    assert not is_asked_for(hidden, "4111", masks)
    assert is_asked_for(open_one, "4111", masks)
    assert is_asked_for(hidden, None, masks)
    assert is_asked_for(hidden, "4111", Masks([]))


TRACE = (
    "Traceback (most recent call last):\n  File\nbarnabas.errors.InvalidValue: card 4111 is blocked"
)


def error_of(topics: list[str], config: dict[str, str], *rules: str) -> str:
    status = {"connector": {"state": "FAILED", "trace": TRACE}, "tasks": []}
    found = {"info": {"config": config}, "status": status}
    shown = shown_connector("sink", found, topics, Masks(map(parse_mask, rules)))
    return str(shown["error"])


@pytest.mark.parametrize(
    ("topics", "config"),
    [(["orders", "payments-eu"], {}), ([], {"topics": "orders, payments-eu"}), ([], {})],
)
def test_the_trace_of_a_connector_does_not_quote_what_is_masked(
    topics: list[str], config: dict[str, str]
) -> None:
    seen = error_of(topics, config, "payments*:$.card.number")
    assert seen == f"barnabas.errors.InvalidValue: {MASK}"


def test_other_traces_are_shown() -> None:
    assert error_of(["orders"], {}, "payments*:value") == TRACE
    assert error_of([], {}) == TRACE


def test_a_replay_by_reason_is_refused_where_reasons_are_masked() -> None:
    """The number of letters that it sends would reveal what their reasons contain."""
    given = {"topic": "payments-dead", "reason": "4111"}
    options = SimpleNamespace(masks=[parse_mask("payments:$.card")])
    call: Any = SimpleNamespace(text=given.__getitem__, options=options)
    with pytest.raises(ApiError, match="all letters of a topic"):
        asyncio.run(replay_dead_letters(call))
