"""A night: orders come in all the time, and a part of the shop is killed again and again, or the
clock of the machine is set.

In the morning every order that was accepted has one payment, or is a dead letter if its customer is
nobody, and every payment has a mail, and a second, delayed one if it is due for that. The totals of
the customers, which billing keeps, are the sums of their payments, and the books were closed once
at each time of the schedule. No hand helps: processes are restarted as systemd does, nodes too.
"""

import json
import os
import random
import signal
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import barnabas
from barnabas.errors import BarnabasError
from examples.night.clock import Clock
from examples.night.services import Services
from examples.night.settings import REMINDED_CENTS, TICK_S

NODE_DOWN_S = 2.0
CLOCK_S = 1_800
"""The clock is set to at most this much before or after the time."""
MEASURED_S = 5.0
MAILERS = ("mailing-1", "mailing-2")
SILENCE_S = 2.0
"""Mails may pause for so long after a worker of theirs was killed, while there are payments."""


@dataclass
class Report:
    """What happened."""

    accepted: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)
    """Orders without an answer: they may have been stored."""
    kills: Counter[str] = field(default_factory=Counter)
    payments: Counter[str] = field(default_factory=Counter)
    letters: Counter[str] = field(default_factory=Counter)
    mails: Counter[str] = field(default_factory=Counter)
    reminders_due: set[str] = field(default_factory=set)
    reminders: Counter[str] = field(default_factory=Counter)
    paid: Counter[str] = field(default_factory=Counter)
    """Of each customer, by the payments."""
    totals: Counter[str] = field(default_factory=Counter)
    """The same, as billing knows it."""
    closings: Counter[int] = field(default_factory=Counter)
    clocks: int = 0
    """How often the clock was set."""
    longest_silence_s: float = 0.0
    """Of the mails, since the last kill of a worker."""
    calm_silence_s: float = 0.0
    """The same just before: it tells a busy machine from a slow takeover."""

    @property
    def lost(self) -> set[str]:
        done = self.payments.keys() | self.letters.keys()
        unsent = self.reminders_due - self.reminders.keys()
        return (self.accepted - done) | (self.payments.keys() - self.mails.keys()) | unsent

    @property
    def doubled(self) -> list[str]:
        both = self.payments + self.letters
        return [order for order, count in both.items() if count > 1]

    @property
    def wrong_totals(self) -> list[str]:
        customers = self.paid.keys() | self.totals.keys()
        return [each for each in customers if self.paid[each] != self.totals[each]]

    @property
    def wrong_closings(self) -> list[int]:
        """Times at which the books were not closed, or more than once; 0 if they never were."""
        if not self.closings:
            return [0]
        times = range(min(self.closings), max(self.closings) + 1, TICK_S)
        return [each for each in {*times, *self.closings} if self.closings[each] != 1]

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.wrong_totals or self.wrong_closings)

    @property
    def is_good(self) -> bool:
        return self.is_right and self.longest_silence_s <= SILENCE_S

    @property
    def text(self) -> str:
        kills = ", ".join(f"{count} of {name}" for name, count in sorted(self.kills.items()))
        return (
            f"{len(self.accepted)} orders accepted ({len(self.uncertain)} without an answer), "
            f"{len(self.payments)} payments, {len(self.letters)} dead letters, "
            f"{len(self.mails)} mailed, {len(self.reminders)} reminded; books closed "
            f"{len(self.closings)} times\nkills: {kills}; the clock was set {self.clocks} times\n"
            f"{len(self.lost)} lost, {len(self.doubled)} doubled, {len(self.wrong_totals)} wrong "
            f"totals, {len(self.wrong_closings)} wrong closings; longest silence of the mails "
            f"after the last kill of a worker: {self.longest_silence_s:.1f} s, "
            f"before it: {self.calm_silence_s:.1f} s"
        )


class Customers(threading.Thread):
    """Send orders, one after the other."""

    def __init__(self, port: int, report: Report, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._url = f"http://127.0.0.1:{port}/orders"
        self._report = report
        self.stopping = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(0.02):
            number += 1
            order = f"{self.name}-{number}"
            customer = "nobody" if number % 40 == 0 else f"c{number % 9}"
            body = json.dumps({"id": order, "customer": customer, "cents": number}).encode()
            try:
                with urllib.request.urlopen(self._url, body, timeout=60):
                    self._report.accepted.add(order)
            except OSError as error:
                if not isinstance(getattr(error, "reason", None), ConnectionRefusedError):
                    self._report.uncertain.add(order)


class Readers:
    """Read what came of the orders."""

    def __init__(self, servers: str, security: dict[str, str], report: Report) -> None:
        self._report = report
        self._busy_at = time.monotonic()
        self._consumer = barnabas.Consumer(
            servers,
            ["payments", "orders-dead", "mails", "reminded", "closings"],
            security=security,
        )

    def read(self) -> None:
        for message in self._poll():
            if message.topic == "mails":
                self._report.mails[message.value.decode()] += 1
                self._busy_at = time.monotonic()
            elif message.topic == "payments":
                self._pay(json.loads(message.value))
            elif message.topic == "reminded":
                self._report.reminders[message.value.decode()] += 1
            elif message.topic == "closings":
                self._report.closings[json.loads(message.value)["at_s"]] += 1
            else:
                self._report.letters[json.loads(message.value)["id"]] += 1

    def _pay(self, payment: dict[str, Any]) -> None:
        order, customer = payment["order"], payment["customer"]
        self._report.payments[order] += 1
        self._report.paid[customer] += payment["cents"]
        known = self._report.totals[customer]
        self._report.totals[customer] = max(known, payment["total_cents"])
        if payment["cents"] % REMINDED_CENTS == 0:
            self._report.reminders_due.add(order)

    @property
    def silence_s(self) -> float:
        """For how long mailers have had payments, and sent nothing. It is not theirs to mail what
        billing has not committed: workers of it may have been killed too."""
        if not self._report.payments.keys() - self._report.mails.keys():
            self._busy_at = time.monotonic()
        return time.monotonic() - self._busy_at

    def _poll(self) -> "list[barnabas.Message[bytes, bytes]]":
        """A plain consumer raises after half a minute without a leader, and can go on after it."""
        try:
            return self._consumer.poll(0.1)
        except BarnabasError as error:
            if not error.retriable:
                raise
            return []

    def close(self) -> None:
        self._consumer.close()


def children(pid: int) -> list[int]:
    """Of a process, by Linux's list of processes."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found.append(int(stat.parent.name))
    return found


def kill_one(
    cluster: barnabas.Cluster, services: Services, what: str, chance: random.Random
) -> None:
    if what == "node":
        node = chance.choice(cluster.nodes)
        cluster.kill(node)
        time.sleep(chance.uniform(0, NODE_DOWN_S))
        cluster.restart(node)
        return
    pid = services.processes["billing" if "billing" in what else chance.choice(MAILERS)].pid
    if what == "billing worker":
        workers = children(pid)
        if not workers:
            return
        pid = chance.choice(workers)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def night(
    cluster: barnabas.Cluster,
    services: Services,
    clock: Clock,
    port: int,
    seconds: float,
    seed: int,
) -> Report:
    """Kill for so long, then let all orders be done."""
    chance, report = random.Random(seed), Report()
    readers = Readers(cluster.bootstrap_servers, cluster.security, report)
    customers = [Customers(port, report, f"{seed}-{each}") for each in range(3)]
    for each in customers:
        each.start()
    try:
        _read_until(readers, lambda: len(report.mails) > 10)
        dawn = time.monotonic() + seconds
        killer = threading.Thread(
            target=_kill_until, args=(dawn, cluster, services, clock, chance, report), daemon=True
        )
        killer.start()
        _read_until(readers, lambda: not killer.is_alive())
        _silence_after_a_kill(cluster, services, readers, report, chance)
        for each in customers:
            each.stopping.set()
        for each in customers:
            each.join()
        if clock.can_be_set:
            clock.set(CLOCK_S)  # whatever was to be later is due
        _read_until(readers, lambda: not report.lost and bool(report.closings))
        time.sleep(1)  # what is doubled would come now
        readers.read()
    finally:
        readers.close()
    return report


def _kill_until(
    dawn: float,
    cluster: barnabas.Cluster,
    services: Services,
    clock: Clock,
    chance: random.Random,
    report: Report,
) -> None:
    kinds = ["node", "billing worker", "billing supervisor", "mailing worker"]
    if clock.can_be_set:
        kinds.append("clock")
    while time.monotonic() < dawn:
        what = chance.choice(kinds)
        if what == "clock":
            clock.set(chance.randint(-CLOCK_S, CLOCK_S))
            report.clocks += 1
        else:
            kill_one(cluster, services, what, chance)
            report.kills[what] += 1
        time.sleep(chance.uniform(0.5, 3))


def _silence_after_a_kill(
    cluster: barnabas.Cluster,
    services: Services,
    readers: Readers,
    report: Report,
    chance: random.Random,
) -> None:
    """The shop has recovered; a worker of the queue is killed while orders come in."""
    _read_until(readers, lambda: not cluster_is_hurt(cluster))
    with barnabas.Admin(cluster.bootstrap_servers, security=cluster.security) as admin:
        _read_until(readers, lambda: mailers(admin) == len(MAILERS))
    count = len(report.mails)
    _read_until(readers, lambda: len(report.mails) > count + 20)
    report.calm_silence_s = _longest_silence_s(readers)
    kill_one(cluster, services, "mailing worker", chance)
    report.kills["mailing worker"] += 1
    report.longest_silence_s = _longest_silence_s(readers)


def _longest_silence_s(readers: Readers) -> float:
    """During some seconds."""
    found, until = 0.0, time.monotonic() + MEASURED_S
    while time.monotonic() < until:
        found = max(found, readers.silence_s)
        readers.read()
    return found


def cluster_is_hurt(cluster: barnabas.Cluster) -> bool:
    return set(cluster.running) != set(cluster.nodes)


def mailers(admin: barnabas.Admin) -> int:
    """How many workers the queue has that were given partitions: one was killed just now, maybe."""
    try:
        members = admin.describe_group("mailers").members
    except BarnabasError:
        return 0
    return sum(bool(each.partitions) for each in members)


LIMIT_S = 300.0


def _read_until(readers: Readers, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            return  # the report shows what is missing
        readers.read()
