"""The terminal of a program that fills it: another page, single keys, all restored at the end."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_ENTER = "\x1b[?1049h\x1b[?25l"  # the other page, without a cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME = "\x1b[H"
_END_OF_LINE = "\x1b[K\r\n"
_CLEAR_REST = "\x1b[J"
_MAX_KEYS = 64


class Screen:
    """A context manager. Keys come without Enter; Ctrl-C stays a signal."""

    def __init__(self) -> None:
        self._keys: asyncio.Queue[str] = asyncio.Queue()
        self._saved: list[int | list[bytes | int]] | None = None
        self._input = sys.stdin.fileno() if sys.stdin.isatty() else None

    def __enter__(self) -> Self:
        if self._input is not None:
            self._saved = termios.tcgetattr(self._input)
            tty.setcbreak(self._input)
            asyncio.get_running_loop().add_reader(self._input, self._read)
        sys.stdout.write(_ENTER)
        sys.stdout.flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._input is not None and self._saved is not None:
            asyncio.get_running_loop().remove_reader(self._input)
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._saved)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now: the user may have resized it."""
        size = os.get_terminal_size(sys.stdout.fileno())
        return size.columns or 80, size.lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Write over what is there, so that nothing flickers."""
        text = _END_OF_LINE.join(lines)
        sys.stdout.write(f"{_HOME}{text}\x1b[K{_CLEAR_REST}")
        sys.stdout.flush()

    async def key(self, timeout_s: float) -> str | None:
        """The next key, or None if there is none for so long."""
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                return await self._keys.get()
        except TimeoutError:
            return None

    def _read(self) -> None:
        assert self._input is not None
        typed = os.read(self._input, _MAX_KEYS).decode(errors="ignore")
        if not typed:  # the terminal is gone
            asyncio.get_running_loop().remove_reader(self._input)
            typed = "q"
        for key in typed:
            self._keys.put_nowait(key)
