"""Lines of the log say which record they are about."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas import App
from barnabas.app.logs import JsonLines, RecordContext, TextLines


@contextmanager
def log(formatter: logging.Formatter) -> Iterator[io.StringIO]:
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(formatter)
    handler.addFilter(RecordContext())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield text
    finally:
        root.removeHandler(handler)


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_handler_logs_has_its_record(concurrency: int, is_async: bool) -> None:
    app = App()
    own = logging.getLogger("orders")

    def bill(order: str) -> None:
        own.warning("billing %s", order, extra={"customer": "ada"})
        if order == "bad":
            raise ValueError("no money")

    async def bill_async(order: str) -> None:
        bill(order)

    app.handler("orders", group="g", name="bill", dead_letters="dead", concurrency=concurrency)(
        bill_async if is_async else bill
    )
    with log(JsonLines()) as text, app.test() as run:
        run.send("orders", "one")
        run.send("orders", "bad")
        own.warning("outside")
    lines = [json.loads(each) for each in text.getvalue().splitlines()]
    place = {"handler": "bill", "topic": "orders", "partition": 0}
    assert lines[0].items() >= {**place, "offset": 0, "customer": "ada"}.items()
    assert lines[1].items() >= {**place, "offset": 1, "message": "billing bad"}.items()
    assert lines[2].items() >= {**place, "offset": 1, "logger": "barnabas.app"}.items()
    assert "given up after 1 attempt" in lines[2]["message"]
    assert "topic" not in lines[-1]


def test_lines_for_people() -> None:
    app = App()

    @app.handler("orders", group="g")
    def bill(order: str) -> None:
        logging.getLogger("orders").warning("billing %s", order)

    with log(TextLines()) as text, app.test() as run:
        run.send("orders", "a\nb")
    (line,) = text.getvalue().splitlines()
    assert line.endswith(
        r"WARNING orders: billing a\nb [handler=bill topic=orders partition=0 offset=0]"
    )
