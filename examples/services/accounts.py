"""Accounts as sums of their events, with snapshots and optimistic concurrency.

    barnabas server &
    barnabas topics create account-events --config retention.ms=-1
    barnabas topics create account-snapshots --config cleanup.policy=compact
    uvicorn examples.services.accounts:web

An event says which version of its account it makes. If two processes make the same version, the
first one in the log counts, and all processes agree, since all read the same log. A start reads
the snapshots, and only those events that no snapshot has.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import FastAPI, HTTPException

import barnabas
from barnabas import Message, Outgoing, TopicPartition

RECENT = 20  # ids of events that an account remembers, for clients that ask again


@dataclass(frozen=True)
class Event:
    id: str
    version: int
    cents: int


@dataclass(frozen=True)
class Account:
    version: int = 0
    cents: int = 0
    recent: list[str] = field(default_factory=list)

    def apply(self, event: Event) -> "Account":
        recent = [*self.recent, event.id][-RECENT:]
        return Account(event.version, self.cents + event.cents, recent)


accounts: dict[str, Account] = {}
NEW = Account()


@asynccontextmanager
async def lifespan(app: barnabas.App) -> AsyncIterator[dict[TopicPartition, int]]:
    """Where the snapshots end. They are read after that, so they have at least all before it."""
    async with barnabas.aio.Admin(app.bootstrap_servers) as admin:
        yield await admin.group_offsets("account-snapshots")


app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"), lifespan=lifespan)
web = FastAPI(lifespan=app.lifespan_of())


@app.handler("account-snapshots", group=None)
async def restore(message: Message[str, Account]) -> None:
    if message.value.version > accounts.get(message.key, NEW).version:
        accounts[message.key] = message.value


@app.handler("account-events", group=None, start=lambda: app.state)
async def follow(message: Message[str, Event]) -> None:
    account = accounts.get(message.key, NEW)
    if message.value.version == account.version + 1:  # else another event was first
        accounts[message.key] = account.apply(message.value)


@app.handler("account-events", group="account-snapshots", produces="account-snapshots")
async def take_snapshots(events: list[Message[str, Event]]) -> list[Outgoing]:
    """One for each account of a batch. The group commits when they are stored."""
    for event in {each.partition: each for each in events}.values():
        await app.until_handled("follow", event)
    keys = dict.fromkeys(each.key for each in events)
    return [Outgoing(accounts[key], key=key) for key in keys if key in accounts]


@dataclass
class Booking:
    id: str  # chosen by the client, the same if it asks again
    cents: int
    version: int  # of the account, as the client knows it


@web.get("/accounts/{name}")
async def look_up(name: str) -> Account:
    return accounts.get(name, NEW)


@web.post("/accounts/{name}")
async def book(name: str, booking: Booking) -> Account:
    account = accounts.get(name, NEW)
    if booking.id not in account.recent:
        if account.version != booking.version:
            raise HTTPException(409, f"the account has version {account.version}")
        if account.cents + booking.cents < 0:
            raise HTTPException(422, f"the account has only {account.cents}")
        event = Event(booking.id, account.version + 1, booking.cents)
        await app.until_handled("follow", await app.send("account-events", event, key=name))
        if booking.id not in accounts[name].recent:
            raise HTTPException(409, "another booking was first")
    return accounts[name]
