"""How the blocking clients are made from those for asyncio."""

import ast

import pytest

from tools.generate_sync import AIO, BY_HAND, blocking, generate


@pytest.mark.parametrize(
    ("awaited", "blocks"),
    [
        ("async def f(): return await g(await h())", "def f(): return g(h())"),
        ("async with a as b, c as d: pass", "with a as b, c as d: pass"),
        ("[x async for x in y]", "[x for x in y]"),
        ("async def __aenter__(self): ...", "def __enter__(self): ..."),
        ("raise StopAsyncIteration", "raise StopIteration"),
        ("def f() -> AsyncIterator[int]: ...", "def f() -> Iterator[int]: ..."),
        ("from barnabas.aio.waiting import Client", "from barnabas.sync.waiting import Client"),
        ("(await admin.topics()).items()", "admin.topics().items()"),
        ("f(await admin.topics())", "f(admin.topics())"),
        ("(await a or b).c", "(a or b).c"),
        ("awaiting = asynchronous = 1", "awaiting = asynchronous = 1"),
        ("Callable[[int], Awaitable[None] | None]", "Callable[[int], object]"),
        ("f()  # await it", "f()  # it"),
        ('"""async with barnabas.aio.Admin() as a"""', '"""with barnabas.Admin() as a"""'),
        ('"""offset = (await sent).offset"""', '"""offset = sent.result().offset"""'),
        ('"""delivery = await sent"""', '"""delivery = sent.result()"""'),
        ('"""for one task"""', '"""for one thread"""'),
    ],
)
def test_what_waits_is_turned_into_what_blocks(awaited: str, blocks: str) -> None:
    assert blocking(awaited + "\n") == blocks + "\n"


@pytest.mark.parametrize(
    "path", [path for path in AIO.glob("*.py") if path.name not in BY_HAND], ids=lambda p: p.name
)
def test_nothing_that_waits_is_left(path: object) -> None:
    source = generate(path)  # type: ignore[arg-type]
    kinds = (ast.AsyncFunctionDef, ast.AsyncWith, ast.AsyncFor, ast.Await)
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    assert "barnabas.aio" not in source
    assert "# Made from ../aio/" in source
