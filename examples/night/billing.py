"""Orders to payments, exactly once: `barnabas app run examples.night.billing:app --workers 2`."""

from datetime import datetime

import barnabas
from barnabas import State
from barnabas.errors import GiveUp
from examples.night.settings import SECURITY, SERVERS, STATE, TICK_S, Closing, Order, Payment

app = barnabas.App(SERVERS, title="billing", security=SECURITY, state_directory=STATE)
failed: set[str] = set()


@app.handler(
    "orders",
    group="billing",
    retries=2,
    backoff="20ms",
    dead_letters="orders-dead",
    produces="payments",
    exactly_once=True,
)
async def bill(order: Order, total: State[int]) -> Payment:
    """Of each customer, as orders have their customer as key, it keeps the sum of all payments."""
    if order.customer == "nobody":
        raise GiveUp("no such customer")
    paid = total.get(0) + order.cents
    total.set(paid)
    if order.cents % 10 == 7 and order.id not in failed:
        failed.add(order.id)
        raise ConnectionError("the bank is closed for a moment")
    return Payment(order.id, order.cents, order.customer, paid)


@app.schedule(every=TICK_S, produces="closings", group="bookkeeping", catch_up="3h")
def close_books(tick: datetime) -> Closing:
    return Closing(int(tick.timestamp()))
