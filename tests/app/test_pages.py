"""The pages of an application: who reads them."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Mapping

import barnabas
from barnabas.app.serving import AppPages
from tests.web.pages_of_others import REQUESTS_OF_PAGES


def _status(port: int, headers: Mapping[str, str]) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=dict(headers))
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_web_pages_read_nothing() -> None:
    """Neither those of other sites, nor one whose name has this address now."""

    async def main() -> list[int]:
        pages = AppPages(barnabas.App("localhost:1"))
        port = await pages.start("127.0.0.1", 0)
        try:
            asked: tuple[Mapping[str, str], ...] = ({}, *REQUESTS_OF_PAGES)
            return [await asyncio.to_thread(_status, port, headers) for headers in asked]
        finally:
            await pages.close()

    assert asyncio.run(main()) == [200] + [403] * len(REQUESTS_OF_PAGES)
