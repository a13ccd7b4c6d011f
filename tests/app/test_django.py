"""Inside Django, under a real server: the handlers run as long as it does."""

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
import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path

import barnabas

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of a test")
handlers = barnabas.App("{servers}")
seen = []


@handlers.handler("{topic}", group="g-{topic}")
def keep(order: str) -> None:
    seen.append(order)


async def order(request):
    delivery = await handlers.send("{topic}", request.body, key="web")
    return JsonResponse({{"offset": delivery.offset, "django": django.get_version()}})


def orders(request):
    return HttpResponse(",".join(seen))


urlpatterns = [path("order", order), path("orders", orders)]
application = handlers.asgi(get_asgi_application())
"""


def test_handlers_live_as_long_as_the_server(servers: str, topic: str, tmp_path: Path) -> None:
    pytest.importorskip("django")
    (tmp_path / "service.py").write_text(SERVICE.format(servers=servers, topic=topic))
    (port,) = free_ports(1)
    command = ["-m", "uvicorn", "service:application", "--port", str(port), "--lifespan", "on"]
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, *command],
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    try:

        def answers() -> str | None:
            assert server.poll() is None, (tmp_path / "log").read_text()
            try:
                return f"at {httpx.get(f'{url}/orders').status_code}"
            except httpx.TransportError:
                return None

        wait_until(answers)
        for number in range(3):
            answer = httpx.post(f"{url}/order", content=f"order {number}").json()
            assert answer["offset"] == number
            assert answer["django"]
        wait_until(lambda: httpx.get(f"{url}/orders").text == "order 0,order 1,order 2")
        server.terminate()
        assert server.wait(LIMIT_S) in (0, -15), (tmp_path / "log").read_text()
    finally:
        server.kill()
        server.wait()
    with barnabas.Admin(servers) as admin:  # what was handled is committed, and the group was left
        assert sum(admin.group_offsets(f"g-{topic}").values()) == 3
        assert not admin.describe_group(f"g-{topic}").members
