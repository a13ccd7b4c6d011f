"""Mistakes that a type checker finds: each line with `# wrong` is one, and no other line is.

This module is never imported: `test_type_checkers.py` gives it to mypy and pyright.
"""

from dataclasses import dataclass
from typing import Annotated, TypedDict

import barnabas
import barnabas.aio
from barnabas import Message, SentTo, formats
from barnabas.errors import UndecodableRecord


@dataclass
class Order:
    id: int
    amount: float


class Payment(TypedDict):
    order: int


def send() -> None:
    with barnabas.Producer() as plain:
        plain.send("orders", b"olives", key=b"ada")
        plain.send("orders", None, key=b"ada")
        plain.send("orders", {"id": 1})  # wrong
        plain.send("orders", b"olives", key="ada")  # wrong
    with barnabas.Producer(key=str, value=Order) as typed:
        typed.send("orders", Order(1, 2.5), key="ada")
        typed.send("orders", None, key="ada")
        typed.send("orders", {"id": 1})  # wrong
        typed.send("orders", Order(1, 2.5), key=b"ada")  # wrong
    with barnabas.Producer(value_format="json") as untyped:
        untyped.send("orders", {"id": 1})
        untyped.send("orders", [1, 2])


async def send_in_asyncio(explicit: barnabas.aio.Producer[str, Order]) -> None:
    await explicit.send("orders", Order(1, 2.5), "ada")
    await explicit.send("orders", "olives", "ada")  # wrong
    async with barnabas.aio.Producer(value=Payment) as producer:
        await producer.send("payments", {"order": 1})
        await producer.send("payments", {"orders": 1})  # wrong


def read() -> None:
    with barnabas.Consumer("localhost:9092", "orders", key=str, value=Order) as consumer:
        for message in consumer:
            print(message.value.amount, message.key.upper(), message.topic)
            print(message.value.amonut)  # wrong
            print(message.valeu)  # wrong
        handle(consumer.poll()[0])
        bill(consumer.poll()[0])  # wrong
    with barnabas.Consumer(key=formats.optional(str), value=list[Order]) as other:
        for each in other.poll():
            print(each.value[0].id, each.key and each.key.upper())
            print(each.key.upper())  # wrong
    with barnabas.Consumer("localhost:9092", "orders") as plain:
        print(plain.poll()[0].value.decode())
        print(plain.poll()[0].value.amount)  # wrong


def handle(message: Message[str, Order]) -> float:
    return message.value.amount


def bill(message: Message[str, Payment]) -> int:
    return message.value["order"]


def untyped(consumer: barnabas.Consumer, message: Message) -> None:
    print(consumer.poll()[0].value["any"].thing, message.value.any_thing)


async def read_in_asyncio(consumer: barnabas.aio.Consumer[str, Order]) -> None:
    async for message in consumer:
        print(message.value.id)
        print(message.value.nr)  # wrong
    try:
        await consumer.poll()
    except UndecodableRecord as error:
        print(error.message.offset, error.message.value[:10], error.field)
        print(error.message.position)  # wrong


app = barnabas.App()


@app.handler("orders", group="billing")
def invoice(order: Order) -> Annotated[Payment, SentTo("payments")]:
    return {"order": order.id}


@app.handler("orders", group="copies")
async def copy(order: Order) -> Annotated[Order, SentTo("copies")]:
    return order.id  # wrong
