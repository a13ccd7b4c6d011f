"""`-> Annotated[Invoice, SentTo("invoices")]`: the topic of a handler's results."""

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from barnabas.errors import InvalidArgument


@dataclass(frozen=True)
class SentTo:
    """Marks a result that is sent to a topic, as `produces` does."""

    topic: str


def destination_of(hint: Any) -> tuple[Any, str | None]:
    """The type without `SentTo`, and the topic that it names.

    Raises `InvalidArgument` for a mark on a part of the result.
    """
    origin = get_origin(hint)
    if origin is Annotated:
        kind, *extras = get_args(hint)
        return kind, next((each.topic for each in extras if isinstance(each, SentTo)), None)
    parts = [destination_of(each) for each in get_args(hint)]
    topics = {topic for _, topic in parts if topic is not None}
    if not topics:
        return hint, None
    if origin not in (Union, UnionType) or len(topics) > 1:
        raise InvalidArgument(
            f"the result {hint} has a part with SentTo; mark the whole result, as in "
            'Annotated[list[Invoice], SentTo("invoices")]'
        )
    return Union[tuple(kind for kind, _ in parts)], topics.pop()  # noqa: UP007 - made at run time
