"""Calls a service that allows so many calls a second, and says when to try again.

    barnabas server &
    API_URL=https://api.example.com/notify barnabas app run examples.services.caller:app

A token bucket keeps below the limit. What is refused nevertheless waits in a retry topic for as
long as the service asks, while other calls go on; what can't succeed becomes a dead letter.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

import barnabas
from barnabas.errors import GiveUp, RetryAfter

URL = os.environ.get("API_URL", "http://localhost:8080/notify")
RATE = 50.0  # calls a second
BURST = 10  # that may come at once, after a pause


class TokenBucket:
    """Fills with `rate` tokens a second, up to `burst`; each call takes one."""

    def __init__(self, rate: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._now = rate, burst, now
        self._tokens, self._since = float(burst), now()

    def take(self) -> float:
        """Take a token; the seconds to wait for it."""
        now = self._now()
        filled = self._tokens + (now - self._since) * self._rate
        self._tokens, self._since = min(filled, self._burst) - 1, now
        return max(0.0, -self._tokens / self._rate)


@dataclass
class Notification:
    phone: str
    text: str


@asynccontextmanager
async def lifespan(_: barnabas.App) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as client:
        yield client


app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"), lifespan=lifespan)
bucket = TokenBucket(RATE, BURST)


@app.handler(
    "notifications",
    group="notify",
    concurrency=16,
    retry_topics=["1s", "30s", "10m"],
    dead_letters="notifications-dead",
)
async def notify(notification: Notification, key: str) -> None:
    """Send a text message; `key` lets the service recognize a call that is repeated."""
    await asyncio.sleep(bucket.take())
    client: httpx.AsyncClient = app.state
    body = {"to": notification.phone, "text": notification.text}
    answer = await client.post(URL, json=body, headers={"Idempotency-Key": key})
    if answer.status_code in (429, 503):
        raise RetryAfter(seconds_of(answer), f"the service answers {answer.status_code}")
    if answer.is_client_error:
        raise GiveUp(f"the service answers {answer.status_code}: {answer.text}")
    answer.raise_for_status()  # any other failure is retried too


def seconds_of(answer: httpx.Response) -> float:
    asked = answer.headers.get("Retry-After", "")
    return float(asked) if asked.isdecimal() else 1.0
