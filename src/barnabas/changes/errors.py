"""What goes wrong with the changes of a database."""

from barnabas.errors import BarnabasError


class ChangesError(BarnabasError):
    """The changes of a database can't be read; the message says what to do."""


def first_line(error: BaseException) -> str:
    """The first line of an error message; the lines after it are details."""
    text = str(error).strip()
    return text.splitlines()[0].rstrip() if text else type(error).__name__
