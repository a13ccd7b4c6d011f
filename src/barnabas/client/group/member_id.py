"""Ids that members give themselves: random UUIDs, written as Kafka's clients write them."""

from base64 import urlsafe_b64encode
from collections.abc import Callable

_BYTES = 16


def new_member_id(random: Callable[[], float]) -> str:
    """An id that no other member has; `random` returns numbers from 0 to 1."""
    data = bytes(int(random() * 256) & 0xFF for _ in range(_BYTES))
    return urlsafe_b64encode(data).rstrip(b"=").decode()
