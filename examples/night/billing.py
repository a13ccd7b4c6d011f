"""Orders to payments, exactly once: `barnabas app run examples.night.billing:app --workers 2`."""

import barnabas
from barnabas.errors import GiveUp
from examples.night.settings import SECURITY, SERVERS, Order, Payment

app = barnabas.App(SERVERS, title="billing", security=SECURITY)
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
async def bill(order: Order) -> Payment:
    if order.customer == "nobody":
        raise GiveUp("no such customer")
    if order.cents % 10 == 7 and order.id not in failed:
        failed.add(order.id)
        raise ConnectionError("the bank is closed for a moment")
    return Payment(order.id, order.cents)
