"""How much one user reads at a time: searches, downloads and lists of dead letters."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call

_MAX_SEARCHES = 8
"""Of one user at a time: each holds some megabytes."""


def check_searches(call: Call) -> None:
    """Raises `ApiError` if this user has too many already."""
    if call.cluster.searches >= _MAX_SEARCHES:
        raise ApiError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"{_MAX_SEARCHES} searches and downloads are running already",
            "Stop one of them, or wait until it has ended.",
        )


@contextmanager
def counted_search(call: Call) -> Iterator[None]:
    """Count one for as long as the block."""
    call.cluster.searches += 1
    try:
        yield
    finally:
        call.cluster.searches -= 1


@contextmanager
def search_slot(call: Call) -> Iterator[None]:
    """Both: raises `ApiError`."""
    check_searches(call)
    with counted_search(call):
        yield
