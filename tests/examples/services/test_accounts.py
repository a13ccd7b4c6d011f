"""Event sourcing: of two bookings of one version one counts; a start reads few events."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

import barnabas
from examples.services import accounts
from examples.services.accounts import Event
from tests.support.wait import wait_until


@pytest.fixture
def client(broker: barnabas.Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("account-events", partitions=2, exist_ok=True)
        compacted = {"cleanup.policy": "compact"}
        admin.create_topic("account-snapshots", configs=compacted, exist_ok=True)
    monkeypatch.setattr(accounts.app, "bootstrap_servers", broker.bootstrap_servers)
    accounts.accounts.clear()  # as a new process
    with TestClient(accounts.web) as client:
        yield client


def book(client: TestClient, name: str, booking: str, cents: int, version: int) -> int:
    body = {"id": booking, "cents": cents, "version": version}
    return client.post(f"/accounts/{name}", json=body).status_code


def test_an_account_is_the_sum_of_its_events(client: TestClient) -> None:
    assert book(client, "ada", "1", 500, 0) == 200
    assert book(client, "ada", "2", -200, 1) == 200
    assert book(client, "ada", "2", -200, 1) == 200  # asked again: booked once
    assert book(client, "ada", "3", -400, 2) == 422
    assert book(client, "ada", "4", 1, 1) == 409
    found = client.get("/accounts/ada").json()
    assert (found["version"], found["cents"]) == (2, 300)


def test_of_many_at_a_time_one_counts(client: TestClient) -> None:
    together = threading.Barrier(8)

    def at_once(number: int) -> int:
        together.wait()
        return book(client, "bob", f"{number}", 100, 0)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(at_once, range(8)))
    assert sorted(answers) == [200] + [409] * 7
    assert client.get("/accounts/bob").json()["cents"] == 100


def wait_for_snapshots(broker: barnabas.Cluster) -> None:
    """Until all events that there are, also those of other tests, are in snapshots."""
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        ends = admin.offsets("account-events")

        def have_all() -> bool:
            committed = admin.group_offsets("account-snapshots")
            return all(committed.get(each, 0) == end for each, end in ends.items())

        wait_until(have_all)


def test_a_start_reads_snapshots_and_few_events(broker: barnabas.Cluster) -> None:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("account-events", partitions=2, exist_ok=True)
        admin.create_topic("account-snapshots", exist_ok=True)

    def book_all(versions: range) -> None:
        with barnabas.Producer(broker.bootstrap_servers, key=str, value=Event) as producer:
            for version in versions:
                for name in ("eve", "joe"):
                    producer.send("account-events", Event(f"{version}", version, 1), key=name)

    accounts.app.bootstrap_servers = broker.bootstrap_servers
    seen: list[int] = []
    handled = accounts.app.handlers["follow"].statistics
    for versions in (range(1, 301), range(301, 311)):
        book_all(versions)
        accounts.accounts.clear()
        before = handled.handled
        with TestClient(accounts.web) as client:
            seen.append(handled.handled - before)
            for name in ("eve", "joe"):  # no event came before the snapshot that it belongs to
                assert client.get(f"/accounts/{name}").json()["cents"] == versions[-1]
            wait_for_snapshots(broker)
    assert seen[0] >= 600
    assert seen[1] == 20
