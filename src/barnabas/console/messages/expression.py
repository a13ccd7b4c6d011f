"""What a search looks for: words, or an expression, without running any code.

    refund                                  in the key, the value or a header
    value.order.amount > 100                a path into JSON; $.order.amount is the same
    key == "ada" and headers.trace != null
    value.items[0].sku in ["a", "b"] or contains(value.note, "late")

Names are key, value, text, headers, partition, offset, timestamp and size. What is missing is null,
and comparing it with something is false. It is parsed as Python and evaluated here: names,
constants, fields, items, comparisons, `and or not`, and a few functions, nothing else. Functions of
text give null for anything else. Nothing is made into text, so no value is larger than a part of
the record or the expression itself.
"""

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

Test = Callable[[Message], bool]
_Evaluate = Callable[["_Record"], Any]

MAX_LENGTH = 2_000
_MAX_DEPTH = 50
_JSON_WORDS = {"null": None, "true": True, "false": False}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, where: item in where,
    ast.NotIn: lambda item, where: item not in where,
}
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_DOLLAR = re.compile(r"\$(?=\s*(?:[.\[]|$))")


class _Record:
    """A message whose parts are decoded once, when they are looked at."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._parts: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        parts = self._parts
        if name not in parts:
            parts[name] = self._part(name)
        return parts[name]

    def _part(self, name: str) -> Any:
        message = self._message
        match name:
            case "key":
                return _decoded(message.key)
            case "value":
                return _json(message.value)
            case "text":
                return _decoded(message.value)
            case "headers":
                return {header: _decoded(value) for header, value in message.headers}
            case "size":
                return len(message.value or b"")
            case "timestamp":
                return message.timestamp_ms
            case _:
                return getattr(message, name)


NAMES = ("key", "value", "text", "headers", "partition", "offset", "timestamp", "size")


def text_test(query: str) -> Test:
    """Whether the words are in the key, the value or a header, in upper or lower case."""
    wanted = query.lower()
    raw = wanted.encode()

    def test(message: Message) -> bool:
        parts = (message.key, message.value, *(value for _, value in message.headers))
        return any(part is not None and raw in part.lower() for part in parts) or any(
            wanted in name.lower() for name, _ in message.headers
        )

    if raw.isascii():
        return test

    def test_folded(message: Message) -> bool:  # bytes.lower knows ASCII only
        parts = (message.key, message.value, *(value for _, value in message.headers))
        names = (name for name, _ in message.headers)
        texts = (part.decode(errors="replace") for part in parts if part is not None)
        return any(wanted in text.lower() for text in (*texts, *names))

    return test_folded


def expression_test(text: str) -> Test:
    """The test that an expression is. Raises `InvalidArgument` with what is wrong."""
    if len(text) > MAX_LENGTH:
        raise InvalidArgument(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(_DOLLAR.sub("value", text).strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
        raise InvalidArgument(f"the expression can't be read: {reason}") from None
    evaluate = _compile(tree.body, 0)

    def test(message: Message) -> bool:
        try:
            return bool(evaluate(_Record(message)))
        except RecursionError:  # lists in lists in a record, which are compared
            return False

    return test


def _compile(node: ast.expr, depth: int) -> _Evaluate:  # noqa: C901 - one case for each node
    if depth > _MAX_DEPTH:
        raise InvalidArgument("the expression is nested too deeply")
    deeper = depth + 1
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int | float | None):
            return lambda _: value
        case ast.Name(id=name) if name in _JSON_WORDS:
            word = _JSON_WORDS[name]
            return lambda _: word
        case ast.Name(id=name) if name in NAMES:
            return lambda record: record[name]
        case ast.Attribute(value=inner, attr=step):
            of = _compile(inner, deeper)
            return lambda record: _step(of(record), step)
        case ast.Subscript(value=inner, slice=index):
            of, at = _compile(inner, deeper), _compile(index, deeper)
            return lambda record: _step(of(record), at(record))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            parts = [_compile(each, deeper) for each in items]
            return lambda record: [part(record) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            negated = _compile(inner, deeper)
            return lambda record: not negated(record)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return lambda _: -number
        case ast.BoolOp(op=kind, values=values):
            parts = [_compile(each, deeper) for each in values]
            if isinstance(kind, ast.And):
                return lambda record: all(part(record) for part in parts)
            return lambda record: any(part(record) for part in parts)
        case ast.Compare():
            return _compile_comparison(node, deeper)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            count, call = _FUNCTIONS[name]
            if len(args) != count:
                raise InvalidArgument(f"{name} takes {count} arguments, got {len(args)}")
            parts = [_compile(each, deeper) for each in args]
            return lambda record: call(*(part(record) for part in parts))
        case ast.Name(id=name):
            known = ", ".join((*NAMES, *_FUNCTIONS))
            raise InvalidArgument(f"unknown name {name!r}; use {known}")
    raise InvalidArgument(
        f"{ast.unparse(node)[:60]!r} is not possible here; use comparisons, and, or, not, in, and "
        f"{', '.join(_FUNCTIONS)}"
    )


def _compile_comparison(node: ast.Compare, depth: int) -> _Evaluate:
    terms = [_compile(each, depth) for each in (node.left, *node.comparators)]
    operators = []
    for each in node.ops:
        if type(each) not in _COMPARISONS:
            raise InvalidArgument("use == and != in place of is and is not")
        operators.append((_COMPARISONS[type(each)], isinstance(each, _ORDERED)))

    def evaluate(record: _Record) -> bool:
        left = terms[0](record)
        for (compare, is_ordered), term in zip(operators, terms[1:], strict=True):
            right = term(record)
            try:
                if (is_ordered and right is None) or not compare(left, right):
                    return False
            except TypeError:  # a word and a number
                return False
            left = right
        return True

    return evaluate


def _step(of: Any, step: Any) -> Any:
    """A field or an item; None if there is none."""
    if isinstance(of, dict) and isinstance(step, str):
        return of.get(step)
    if isinstance(of, list) and isinstance(step, int) and -len(of) <= step < len(of):
        return of[step]
    return None


def _contains(where: Any, what: Any) -> bool | None:
    if isinstance(where, str):
        if isinstance(what, int | float):
            what = str(what)
        return what.lower() in where.lower() if isinstance(what, str) else None
    if isinstance(where, dict):
        return isinstance(what, str) and what in where
    return what in where if isinstance(where, list) else None


def _of_texts(function: Callable[[str, str], bool]) -> Callable[[Any, Any], bool | None]:
    def call(text: Any, other: Any) -> bool | None:
        if isinstance(text, str) and isinstance(other, str):
            return function(text, other)
        return None

    return call


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "contains": (2, _contains),
    "startswith": (2, _of_texts(str.startswith)),
    "endswith": (2, _of_texts(str.endswith)),
    "lower": (1, lambda text: text.lower() if isinstance(text, str) else None),
    "length": (1, lambda of: len(of) if isinstance(of, str | list | dict) else 0),
    "exists": (1, lambda of: of is not None),
}


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _json(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _decoded(data)
