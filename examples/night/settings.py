"""Where the cluster is: the services get it from their environment."""

import json
import os
from dataclasses import dataclass

SERVERS = os.environ.get("NIGHT_SERVERS", "localhost:9092")
SECURITY: dict[str, str] = json.loads(os.environ.get("NIGHT_SECURITY", "{}"))
STATE = os.environ.get("NIGHT_STATE")
TICK_S = 15
"""How often the shop closes its books."""
REMINDED_CENTS = 50
"""Customers who pay a multiple of this get a second mail."""


@dataclass
class Order:
    id: str
    customer: str
    cents: int


@dataclass
class Payment:
    order: str
    cents: int
    customer: str
    total_cents: int
    """What the customer has paid, with this payment."""


@dataclass
class Closing:
    """Of the books, at a time in seconds since 1970."""

    at_s: int
