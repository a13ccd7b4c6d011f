"""Lines from standard input."""

import os

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.base.runner import run_async
from barnabas.cli.records.standard_streams import read_lines


@given(st.lists(st.binary(max_size=50).map(lambda line: line.replace(b"\n", b"")), max_size=20))
def test_lines_come_as_they_were_written(lines: list[bytes]) -> None:
    written = b"".join(line + b"\n" for line in lines)
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, written + b"rest")
        os.close(write_end)
        found: list[bytes] = []

        async def read() -> None:
            async for some in read_lines(read_end):
                found.extend(some)

        run_async(read())
        assert found == [*lines, b"rest"]
    finally:
        os.close(read_end)
