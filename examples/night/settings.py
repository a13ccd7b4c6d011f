"""Where the cluster is: the services get it from their environment."""

import json
import os
from dataclasses import dataclass

SERVERS = os.environ.get("NIGHT_SERVERS", "localhost:9092")
SECURITY: dict[str, str] = json.loads(os.environ.get("NIGHT_SECURITY", "{}"))


@dataclass
class Order:
    id: str
    customer: str
    cents: int


@dataclass
class Payment:
    order: str
    cents: int
