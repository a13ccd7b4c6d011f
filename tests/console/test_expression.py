"""What a search looks for, and that no code is run for it."""

import json
import tracemalloc
from typing import Any

import pytest

from barnabas.console.messages.expression import expression_test, text_test
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message
from tests.support.steps import at_most_steps


def message(value: Any = None, key: bytes | None = b"ada", **more: Any) -> Message:
    data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Message("orders", 2, 17, 1_000, key, data, more.get("headers", ()))


ORDER = message(
    {"order": {"amount": 120, "items": [{"sku": "olives"}]}, "status": "late", "note": None},
    headers=(("trace", b"abc"), ("empty", None)),
)


@pytest.mark.parametrize(
    "text",
    [
        "value.order.amount > 100",
        "$.order.amount >= 120",
        '$.order.items[0].sku == "olives"',
        'key == "ada" and status_is_unknown == 1 or value.status == "late"'.replace(
            "status_is_unknown == 1", "partition == 3"
        ),
        'value.status in ["late", "lost"]',
        'contains(value.status, "LAT")',
        'headers.trace == "abc"',
        "headers.empty == null",
        "not exists(value.note)",
        "length(value.order.items) == 1",
        "100 < value.order.amount < 200",
        "partition == 2 and offset == 17 and timestamp == 1000",
        'startswith(key, "a") and endswith(lower(key), "a")',
        'value["order"]["amount"] != -1',
        "size > 10",
    ],
)
def test_an_expression_finds_it(text: str) -> None:
    assert expression_test(text)(ORDER)


@pytest.mark.parametrize(
    "text",
    [
        "value.order.amount > 1000",
        "value.missing.deeper == 1",
        'value.order.amount > "words"',
        "value.missing < 3",
        "value.order.items[7].sku == null and false",
        '"x" in value.missing',
    ],
)
def test_an_expression_does_not_find_it(text: str) -> None:
    assert not expression_test(text)(ORDER)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('id')",
        "value.__class__.__mro__",
        "key.__class__",
        "(lambda: 1)()",
        "[x for x in value]",
        "'a' * 10**9",
        "open('/etc/passwd')",
        "f'{key}'",
        "value if key else 1",
        "x := 1",
        "contains(*value)",
        "length(value, value)",
        "unknown == 1",
        "value is null",
        "((((",
        "",
        "not " * 200 + "key",
        "x" * 3000,
    ],
)
def test_what_is_not_a_comparison_is_refused_or_finds_nothing(text: str) -> None:
    try:
        test = expression_test(text)
    except InvalidArgument:
        return
    assert not test(ORDER)  # fields of JSON may have any name, and these are not there


def test_values_that_are_not_json_are_text() -> None:
    assert expression_test('value == "plain"')(message(b"plain"))
    assert expression_test('contains(text, "lai")')(message(b"plain"))
    assert expression_test("value == null")(message(None))
    assert not expression_test("value.a == 1")(message(b"[" * 100_000))


@pytest.mark.parametrize("query", ["OLIVES", "trace", "ABC", "ada", "late"])
def test_words_are_looked_for_everywhere(query: str) -> None:
    assert text_test(query)(ORDER)
    assert not text_test(query + "?")(ORDER)


def test_words_beyond_ascii_know_upper_case() -> None:
    assert text_test("ÄRGER")(message("ärger".encode()))
    assert not text_test("ÄRGER")(message(b"\xff\xfe"))


@pytest.mark.parametrize("of", ["[key]", "value", "headers", "null", "7"])
def test_functions_of_text_give_null_for_anything_else(of: str) -> None:
    assert expression_test(f"lower({of}) == null")(ORDER)
    assert expression_test(f'startswith({of}, "a") == null')(ORDER)
    assert expression_test(f"endswith(key, {of}) == null")(ORDER)


@pytest.mark.parametrize("call", ['contains(null, "a")', 'contains(7, "7")', "contains(key, [1])"])
def test_only_text_lists_and_objects_contain_something(call: str) -> None:
    assert expression_test(f"{call} == null")(ORDER)
    assert not expression_test("contains(value, [1])")(ORDER)


def test_nothing_that_is_nested_grows() -> None:
    """Each level of `lower([x, x])` doubled the text of the one before: 229 characters, 512 MiB."""
    text = "text"
    for _ in range(12):
        text = f"lower([{text}, {text}])" if len(text) < 900 else f"lower([{text}])"
    tracemalloc.start()
    try:
        assert not expression_test(f'contains({text}, "x")')(message(b"x" * 100_000))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["value.a == value.b", "contains([value.b], value.a)"])
def test_records_that_are_nested_deeply_end_no_search(text: str) -> None:
    """What can just be parsed may be too deep to be compared, within more calls."""
    test = expression_test(f"value == 1 or {'not ' * 40}({text})")
    for depth in range(0, 1000, 5):
        nested = b"[" * depth + b"]" * depth or b"1"
        test(message(b'{"a":%b,"b":%b}' % (nested, nested)))


def test_a_part_of_a_record_is_decoded_once() -> None:
    many = message(b"x", headers=tuple((f"h{number}", b"y" * 10_000) for number in range(100)))
    text = " or ".join(['headers.missing == "z"'] * 70)
    with at_most_steps(30_000):
        assert not expression_test(text)(many)
