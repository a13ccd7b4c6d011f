"""Searches and downloads: a stream of lines, which the browser may end at any time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from barnabas.console.answers import json_bytes
from barnabas.console.api.parameters import PARTITION, TOPIC
from barnabas.console.api.search_limit import check_searches, counted_search
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.expression import Test, expression_test, text_test
from barnabas.console.messages.json_lines import json_line
from barnabas.console.messages.parquet import ParquetFile
from barnabas.console.messages.positions import bounds_of
from barnabas.console.messages.ranges import Found
from barnabas.console.messages.search import Progress, Ranges, search
from barnabas.console.messages.shown import show
from barnabas.console.messages.start import AT, FROM, START, start_offsets
from barnabas.errors import BarnabasError

_LINES = "application/x-ndjson"


async def search_messages(call: Call) -> StreamingResponse:
    """Lines with `match`, `progress`, and at the end `done` or `error`."""
    progress = Progress()
    pieces = await _pieces(call, progress)

    async def lines() -> AsyncIterator[bytes]:
        matches = 0
        try:
            async for found in pieces:
                for each in found:
                    yield _line(match=show(each, call.view))
                matches += len(found)
                yield _line(progress=_progress(progress, matches))
            complete = progress.scanned >= progress.total
            yield _line(done={**_progress(progress, matches), "complete": complete})
        except BarnabasError as error:
            yield _line(error={"message": str(error), "hint": "Search again."})

    return StreamingResponse(lines(), media_type=_LINES)


async def download_messages(call: Call) -> StreamingResponse:
    """Records as JSON lines or Parquet, as a file."""
    file = ParquetFile() if call.text("format") == "parquet" else None
    pieces = await _pieces(call, Progress())

    async def lines() -> AsyncIterator[bytes]:
        async for found in pieces:
            yield b"".join(json_line(call.view.of(each.message)) for each in found)

    async def row_groups(file: ParquetFile) -> AsyncIterator[bytes]:
        async for found in pieces:
            yield await asyncio.to_thread(file.add, [call.view.of(each.message) for each in found])
        yield await asyncio.to_thread(file.end)

    name = f"{call.text('topic')}.{'jsonl' if file is None else 'parquet'}"
    return StreamingResponse(
        lines() if file is None else row_groups(file),
        media_type=_LINES if file is None else "application/vnd.apache.parquet",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _pieces(call: Call, progress: Progress) -> AsyncIterator[list[Found]]:
    """What is asked for; raises `ApiError` if this user has too many searches already."""
    test = _test(call)
    ranges = await _ranges(call)
    check_searches(call)

    async def run() -> AsyncIterator[list[Found]]:
        found = search(
            call.cluster,
            ranges,
            test,
            call.view,
            progress,
            limit=call.number("limit"),
            newest_first=call.text("from") == "newest",
        )
        with counted_search(call):
            async with aclosing(found):
                async for piece in found:
                    yield piece

    return run()


def _test(call: Call) -> Test:
    query = call.text("query").strip()
    if not query:
        return lambda _: True
    return expression_test(query) if call.text("mode") == "expression" else text_test(query)


async def _ranges(call: Call) -> Ranges:
    bounds = await bounds_of(call.cluster.client, call.text("topic"), call.given("partition"))
    starts = await start_offsets(call, bounds)
    return {
        name: each._replace(beginning=max(starts[name], each.beginning))
        for name, each in bounds.items()
    }


def _progress(progress: Progress, matches: int) -> dict[str, int]:
    return {"scanned": progress.scanned, "total": progress.total, "matches": matches}


def _line(**value: Any) -> bytes:
    return json_bytes(value) + b"\n"


QUERY = Parameter("query", "string", "Words, or an expression.", "")
MODE = Parameter("mode", "string", "How it is read.", "text", choices=("text", "expression"))

ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/topics/{topic}/search",
        "Records that match, as JSON lines with progress.",
        search_messages,
        (
            *(TOPIC, PARTITION, FROM, START, AT, QUERY, MODE),
            Parameter("limit", "integer", "Matches at most.", 100, minimum=1, maximum=1_000),
        ),
    ),
    Endpoint(
        "GET",
        "/api/topics/{topic}/download",
        "Records that match, as a file.",
        download_messages,
        (
            *(TOPIC, PARTITION, FROM, START, AT, QUERY, MODE),
            Parameter("limit", "integer", "Records at most.", 10_000, minimum=1, maximum=1_000_000),
            Parameter("format", "string", "Of the file.", "jsonl", choices=("jsonl", "parquet")),
        ),
    ),
)
