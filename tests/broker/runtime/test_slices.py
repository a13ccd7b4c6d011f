"""Answers that are made in slices."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.net import dispatcher
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.runtime.slices import SLICE, Slicer, Slices, awaited
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.wire.primitives import Reader, WireError, Writer
from barnabas.wire.request_limits import RequestLimits

VERSION = 5


def groups(names: list[str]) -> Slices[list[DescribedGroup]]:
    return Slicer(VERSION).each(names, lambda name: DescribedGroup(group_id=name))


def yields(slices: Slices[Any]) -> tuple[int, Any]:
    """How often it yields, and what it returns."""
    count = 0
    while True:
        try:
            next(slices)
        except StopIteration as made:
            return count, made.value
        count += 1


def test_what_fits_into_a_slice_is_made_at_once() -> None:
    count, made = yields(groups(["a"] * (SLICE - 1)))
    assert count == 0
    assert made == [DescribedGroup(group_id="a")] * (SLICE - 1)


def test_what_is_longer_yields_and_encodes_the_same() -> None:
    names = [f"g{number}" for number in range(3 * SLICE + 1)]
    count, made = yields(groups(names))
    assert count == 3
    sliced, whole = Writer(), Writer()
    DescribeGroupsResponse(groups=made).encode(sliced, VERSION)
    plain = [DescribedGroup(group_id=name) for name in names]
    DescribeGroupsResponse(groups=plain).encode(whole, VERSION)
    assert sliced.getvalue() == whole.getvalue()


def test_what_is_heavy_yields_sooner() -> None:
    slicer = Slicer(VERSION)
    count, _ = yields(slicer.each(["a"] * 10, lambda _: DescribedGroup(), weight=SLICE // 2))
    assert count == 5


def test_slices_that_are_awaited_leave_turns_to_others() -> None:
    async def run() -> tuple[int, int]:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        made = await awaited(groups(["a"] * (4 * SLICE)))
        task.cancel()
        return len(made), turns

    made, turns = asyncio.run(run())
    assert made == 4 * SLICE
    assert turns >= 4


class Asked:
    """A dispatcher of one API, answered in slices."""

    def __init__(self, limits: RequestLimits | None = None) -> None:
        def handle(_: object, request: DescribeGroupsRequest, context: Any) -> Slices[Any]:
            made = yield from Slicer(context.version).each(
                request.groups, lambda name: DescribedGroup(group_id=name)
            )
            return DescribeGroupsResponse(groups=made)

        with pytest.MonkeyPatch.context() as patched:
            if limits is not None:
                patched.setattr(dispatcher, "limits_of", lambda _: limits)
            self._dispatcher = Dispatcher(None, [Route(DescribeGroupsRequest, handle)])

    def send(self, names: list[str]) -> Any:
        frame = b"".join(encode_request(DescribeGroupsRequest(names), VERSION, 7, "me"))
        connection: Any = SimpleNamespace(peer=None, client_host="test")
        return self._dispatcher.dispatch(memoryview(frame)[4:], connection)


def answered(answer: list[bytes]) -> list[str]:
    frame = b"".join(answer)[4:]
    response = decode_response(frame, DescribeGroupsResponse, VERSION)
    return [group.group_id for group in response.groups]


def test_a_short_answer_is_at_hand() -> None:
    assert answered(Asked().send(["a", "b"])) == ["a", "b"]


def test_a_long_answer_comes_later() -> None:
    names = [f"g{number}" for number in range(2 * SLICE)]

    async def run() -> list[str]:
        answer = Asked().send(names)
        assert isinstance(answer, asyncio.Future)
        return answered(await answer)

    assert asyncio.run(run()) == names


def test_a_long_answer_that_nobody_waits_for_is_not_made() -> None:
    made = 0

    def items() -> Iterator[str]:
        nonlocal made
        for _ in range(100 * SLICE):
            made += 1
            yield "a"

    async def run() -> None:
        task = asyncio.create_task(
            awaited(Slicer(VERSION).each(items(), lambda _: DescribedGroup()))
        )
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(run())
    assert made <= 3 * SLICE


def test_a_request_has_so_many_elements_at_most() -> None:
    asked = Asked(RequestLimits(elements=3))
    assert answered(asked.send(["a", "b", "c"])) == ["a", "b", "c"]
    with pytest.raises(WireError, match="too many"):
        asked.send(["a", "b", "c", "d"])


def test_a_request_has_so_many_bytes_at_most() -> None:
    asked = Asked(RequestLimits(size=100))
    assert answered(asked.send(["a"])) == ["a"]
    with pytest.raises(WireError, match=r"DescribeGroupsRequest has \d+ bytes, the limit is 100"):
        asked.send(["a" * 100])


def test_tagged_fields_count_as_elements() -> None:
    tags = Writer()
    tags.uvarint(4)
    for tag in range(4):
        tags.uvarint(tag)
        tags.uvarint(0)
    Reader(tags.getvalue(), 4).skip_tags()
    with pytest.raises(WireError, match="too many"):
        Reader(tags.getvalue(), 3).skip_tags()
