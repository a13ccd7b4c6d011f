"""Two instances of the service: one hangs and is fenced, the other one is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from tests.connect.loud_words import LOUD, words
from tests.connect.service import Service, drivers_in
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(tmp_path / "broker") as broker:
        yield broker.bootstrap


@pytest.fixture
def service(broker: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path, "first", broker)
    yield service
    service.close()


@pytest.fixture
def standby(broker: str, tmp_path: Path, service: Service) -> Iterator[Service]:
    wait_until(lambda: "leads" in service.log.read_text(), service.said)
    standby = Service(tmp_path, "second", broker)
    yield standby
    standby.close()


def test_the_former_leader_is_fenced_and_a_standby_goes_on_after_kill_9(
    service: Service, standby: Service, broker: str, tmp_path: Path
) -> None:
    with barnabas.Admin(broker) as admin:
        admin.create_topic("words")
    for each in (service, standby):
        each.wait_until_ready()
    assert service.call("POST", "/connectors", {"name": "loud", "config": LOUD}).status == 201
    service.wait_for_state("loud", "RUNNING")
    sent = _send_words(broker, "a")
    service.freeze()  # it seems dead, and its Spark is not
    sent += _send_words(broker, "b")
    _wait_for_leader(standby)
    assert len(words(broker, "loud", sent)) == sent
    service.thaw()
    wait_until(lambda: "another instance leads now" in service.log.read_text(), service.said)
    wait_until(
        lambda: service.get("/connectors/loud/status") == standby.get("/connectors/loud/status"),
        service.said,
    )

    sent += _send_words(broker, "c")
    standby.kill()
    sent += _send_words(broker, "d")
    _wait_for_leader(service)
    found = words(broker, "loud", sent)
    expected = [f"{each}{n}" for each in "ABCD" for n in range(_MANY)]
    assert sorted(found) == sorted(expected)
    wait_until(lambda: len(drivers_in(tmp_path)) == 1, "a driver outlived its service")
    assert service.stop() == 143
    assert drivers_in(tmp_path) == []


_MANY = 800


def _send_words(bootstrap: str, prefix: str) -> int:
    with barnabas.Producer(bootstrap, value_format="json") as send:
        for each in range(_MANY):
            send.send("words", {"word": f"{prefix}{each}"})
    return _MANY


def _wait_for_leader(service: Service) -> None:
    """Wait until it runs the connector."""

    def leads() -> bool:
        found = service.get("/connectors/loud/status")
        return found["connector"]["worker_id"] in service.url and bool(found["tasks"])

    wait_until(leads, service.said)
