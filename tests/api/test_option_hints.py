"""Options under the names of other libraries are refused with what to write instead."""

from typing import Any

import pytest

import barnabas
from barnabas import aio


@pytest.mark.parametrize(
    "client", [barnabas.Producer, barnabas.Consumer, barnabas.Admin, aio.Producer, aio.Consumer]
)
def test_a_dictionary_of_options_is_refused_with_a_hint(client: Any) -> None:
    with pytest.raises(TypeError) as refused:
        client({"bootstrap.servers": "localhost:9092", "acks": "all"})
    assert str(refused.value) == (
        f"{client.__name__} takes keyword arguments, not a dict: write "
        f'{client.__name__}("localhost:9092", ...)'
    )


@pytest.mark.parametrize("client", [barnabas.Consumer, aio.Consumer])
@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("group_id", "group="),
        ("auto_offset_reset", "start="),
        ("enable_auto_commit", "commit="),
        ("value_deserializer", "value_format="),
        ("isolation_level", "isolation="),
    ],
)
def test_an_option_of_another_name_is_refused_with_a_hint(
    client: Any, option: str, instead: str
) -> None:
    with pytest.raises(TypeError) as refused:
        client("localhost:9092", "orders", **{option: "x"})
    assert str(refused.value) == f"Consumer has no option {option}: write {instead}"


@pytest.mark.parametrize(
    ("option", "instead"),
    [("value_serializer", "value_format="), ("compression_type", "compression=")],
)
def test_the_producer_too(option: str, instead: str) -> None:
    with pytest.raises(TypeError, match=f"Producer has no option {option}: write {instead}"):
        barnabas.Producer("localhost:9092", **{option: "x"})  # type: ignore[arg-type]


def test_a_client_without_that_option_gets_no_hint() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'group_id'"):
        barnabas.Producer("localhost:9092", group_id="g")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'what'"):
        barnabas.Consumer("localhost:9092", what=1)  # type: ignore[call-arg]
