"""A FastAPI service with an application in its lifespan, under load by real HTTP clients."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import barnabas
from tests.support.ports import free_ports
from tests.support.wait import LIMIT_S, wait_until

SERVICE = """
from fastapi import FastAPI, Request

import barnabas

handlers = barnabas.App("{servers}")
totals: dict[str, int] = {{}}


@handlers.handler("{topic}", group="g-{topic}", concurrency=8, produces="{topic}-out")
async def add(message: barnabas.Message[str, int]) -> int:
    totals[message.key] = totals.get(message.key, 0) + message.value
    return totals[message.key]


service = FastAPI(lifespan=handlers.lifespan_of())


@service.post("/orders/{{customer}}")
async def order(customer: str, amount: int) -> dict[str, int]:
    delivery = await handlers.send("{topic}", amount, key=customer)
    return {{"offset": delivery.offset}}


@service.get("/totals")
def all_totals() -> dict[str, int]:
    return totals
"""
CUSTOMERS = 10
EACH = 25


@pytest.mark.long
def test_each_request_is_a_record_and_each_record_is_handled_once(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    (tmp_path / "service.py").write_text(SERVICE.format(servers=servers, topic=topic))
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "service:service", "--port", str(port)],
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def answers() -> str | None:
        assert server.poll() is None, (tmp_path / "log").read_text()
        try:
            return f"at {httpx.get(f'{url}/totals').status_code}"
        except httpx.TransportError:
            return None

    async def customer(client: httpx.AsyncClient, number: int) -> None:
        for amount in range(EACH):
            answer = await client.post(f"{url}/orders/c{number}", params={"amount": amount})
            assert answer.status_code == 200, answer.text

    async def load() -> None:
        async with httpx.AsyncClient(timeout=LIMIT_S) as client:
            await asyncio.gather(*(customer(client, number) for number in range(CUSTOMERS)))

    wanted = {f"c{number}": sum(range(EACH)) for number in range(CUSTOMERS)}
    try:
        wait_until(answers)
        asyncio.run(load())
        wait_until(lambda: httpx.get(f"{url}/totals").json() == wanted)
        server.terminate()
        assert server.wait(LIMIT_S) in (0, -15), (tmp_path / "log").read_text()
    finally:
        server.kill()
        server.wait()
    with barnabas.Admin(servers) as admin:
        assert sum(admin.group_offsets(f"g-{topic}").values()) == CUSTOMERS * EACH
    sums: dict[bytes, list[int]] = {}
    with barnabas.Consumer(servers, f"{topic}-out", value=int) as consumer:
        while sum(map(len, sums.values())) < CUSTOMERS * EACH:
            for message in consumer.poll(60):
                sums.setdefault(message.key, []).append(message.value)
    assert all(each == sorted(each) for each in sums.values())  # each key in its order
