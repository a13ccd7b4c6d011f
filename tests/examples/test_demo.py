"""The demo runs, leaves nothing behind, and notices when a promise is broken."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from examples.demo.__main__ import verdict
from examples.demo.accounting import Account, Check, Row
from examples.demo.nodes import same_copies
from examples.demo.pauses import check_pause, check_return, pause_s
from examples.demo.shop import Shop
from examples.demo.stage import Stage
from examples.demo.traffic import LATEST, OPENING, Event, Traffic
from examples.demo.view import PlainView, picture
from examples.demo.watch import ClusterView
from examples.demo.website import AHEAD, Website
from tests.support.processes import command_line
from tests.support.wait import wait_until, wait_until_async

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.demo", "--plain"]
WATERMARK = timedelta(minutes=10)


def temporary_of(tmp_path: Path) -> Path:
    """Not below pytest's folder, which every start of a pytest closes to other users: the database
    runs as one."""
    return Path(tempfile.gettempdir()) / f"{tmp_path.parent.name}-{tmp_path.name}"


def start(tmp_path: Path, *arguments: str) -> "subprocess.Popen[str]":
    temporary = temporary_of(tmp_path)
    temporary.mkdir()
    return subprocess.Popen(
        [*COMMAND, "--output", str(tmp_path / "output"), *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def assert_nothing_left(tmp_path: Path, processes: list[psutil.Process]) -> None:
    """A zombie is gone; its parent, or the system, has only not looked yet."""
    _, alive = psutil.wait_procs(processes, timeout=1)
    assert not [each for each in alive if command_line(each)]
    assert not list(temporary_of(tmp_path).iterdir())


def wait_for_processes(demo: "subprocess.Popen[str]", *programs: str) -> list[psutil.Process]:
    """Everything that the demo has started, once all of these programs are running."""

    def children() -> list[psutil.Process]:
        return psutil.Process(demo.pid).children(recursive=True)

    def started() -> list[psutil.Process]:
        assert demo.poll() is None, demo.communicate()[0]
        found = children()
        lines = [command_line(child) for child in found]
        return found if all(any(program in line for line in lines) for program in programs) else []

    return wait_until(started, lambda: f"only {list(map(command_line, children()))}")


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.drivers
def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    demo = start(tmp_path, "--minutes", "12", "--seconds", "6", "--rate", "200")
    output, _ = demo.communicate(timeout=590)
    assert demo.returncode == 0, output
    assert "kill -9 of node" in output
    assert "every replica is in sync" in output
    assert "kill -9 of the database" in output
    assert "the changes, replayed, are the table in the database" in " ".join(output.split())
    assert "BROKEN" not in output
    assert output.splitlines()[-1] == "All promises kept."
    assert_nothing_left(tmp_path, [])
    left = sorted(each.name for each in (tmp_path / "output").iterdir())
    assert left == ["demo.png", "tables"]
    assert (tmp_path / "output" / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "numbers", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]], ids=["SIGTERM", "SIGINT twice"]
)
@pytest.mark.long
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, numbers: list[int]) -> None:
    demo = start(tmp_path)
    children = wait_for_processes(demo, "node.id=3", "bin/postgres", "pipelines.py")
    for number in numbers:
        time.sleep(0.2)
        demo.send_signal(number)
    output, _ = demo.communicate(timeout=300)
    assert demo.returncode == 130, output
    assert_nothing_left(tmp_path, children)


@pytest.mark.long
def test_a_cluster_that_dies_fails_the_demo(tmp_path: Path) -> None:
    demo = start(tmp_path)
    children = wait_for_processes(demo, "node.id=3", "pipelines.py")
    (supervisor,) = [child for child in children if "--nodes" in command_line(child)]
    supervisor.kill()
    output, _ = demo.communicate(timeout=300)
    assert demo.returncode == 1, output
    assert "error: `barnabas server --nodes` has ended with -9" in output
    assert_nothing_left(tmp_path, children)


# -- traffic -------------------------------------------------------------------------------------


def whole_traffic(minutes: int = 20, per_minute: int = 60) -> list[list[Event]]:
    """What is sent in one go after the other."""
    traffic = Traffic(5, minutes, per_minute)
    by_minute = traffic.by_minute()
    half = minutes // 2
    return [*by_minute[:half], traffic.forgotten(9), *by_minute[half:], traffic.last()]


def test_no_event_but_the_forgotten_can_come_behind_the_watermark() -> None:
    """Whatever is read first of what is on its way at once."""
    sent = whole_traffic()
    for number, events in enumerate(sent[:-1]):
        ahead = [event for later in sent[: number + AHEAD + 1] for event in later]
        if number + AHEAD >= len(sent) - 1:
            ahead = [event for later in sent[:-1] for event in later]  # the last wait for all
        watermark = max(event.at for event in ahead) - WATERMARK
        for event in events:
            assert (event.at < OPENING - WATERMARK) == (event.kind == "forgotten")
            assert event.kind == "forgotten" or event.at > watermark


def test_the_last_events_end_all_minutes_but_their_own() -> None:
    *before, last = whole_traffic()
    ends = [event.minute + timedelta(minutes=1) for events in before for event in events]
    assert min(event.at for event in last) - WATERMARK > max(ends)


def test_traffic_is_what_its_seed_makes_of_it() -> None:
    events = [event for sent in whole_traffic() for event in sent]
    assert events == [event for sent in whole_traffic() for event in sent]
    assert len({event.id for event in events}) == len(events)
    assert len({event.value for event in events}) == len(events)
    views = {event.id: event for event in events if event.kind in ("view", "last view")}
    for event in events:
        if event.kind != "forgotten":
            assert timedelta() <= event.sent_at - event.at <= LATEST
        if event.kind == "click":
            view = views[event.view]
            assert (event.page, event.visitor) == (view.page, view.visitor)
            assert timedelta() < event.at - view.at < timedelta(minutes=5)
    forgotten = [event for event in events if event.kind == "forgotten"]
    assert len({event.minute for event in forgotten}) == len(forgotten)
    kinds = {event.kind for event in events}
    assert kinds == {"view", "click", "search", "malformed", "forgotten", "last view"}
    assert sum(event.is_late for event in events) > 50


def test_each_minute_is_sent_in_order() -> None:
    by_minute = Traffic(5, 20, 60).by_minute()
    for number, events in enumerate(by_minute):
        times = [event.sent_at for event in events]
        assert times == sorted(times)
        assert all((each - OPENING) // timedelta(minutes=1) == number for each in times)


class SlowSent:
    """A record that is acknowledged when the test says so."""

    def __init__(self, acknowledged: asyncio.Event) -> None:
        self._acknowledged = acknowledged

    def add_done_callback(self, callback: Callable[..., object]) -> None: ...

    def __await__(self) -> Generator[Any, None, bool]:
        return self._acknowledged.wait().__await__()


class SlowProducer:
    def __init__(self) -> None:
        self.acknowledged: list[asyncio.Event] = []

    async def send(self, topic: str, value: bytes, key: bytes) -> SlowSent:
        self.acknowledged.append(asyncio.Event())
        return SlowSent(self.acknowledged[-1])


def test_the_website_waits_for_acknowledgements() -> None:
    async def run() -> None:
        producer = SlowProducer()
        website = Website(producer, "activity")  # type: ignore[arg-type]
        minutes = [[event] for event in Traffic(1, 1, 10).by_minute()[0][: AHEAD + 2]]

        async def send() -> None:
            for events in minutes:
                await website.send(events)

        sending = asyncio.create_task(send())
        for count in (AHEAD, AHEAD + 1, AHEAD + 2):
            await wait_until_async(lambda count=count: len(website.sent) >= count)
            await asyncio.sleep(0.01)
            assert len(website.sent) == count
            producer.acknowledged[count - AHEAD].set()
        await sending

    asyncio.run(run())


# -- the accounting ------------------------------------------------------------------------------


class Books:
    """What honest pipelines make of some traffic."""

    def __init__(self) -> None:
        events = [event for sent in whole_traffic(6, 40) for event in sent]
        self.account = Account(events)
        self.acknowledged = self.in_topic = len(events)
        self.counts: list[Row] = [
            {"page": page, "minute": minute.isoformat(), "views": views}
            for (page, minute), views in self.account.views.items()
        ]
        clicks = [event for event in events if event.kind == "click"]
        self.clicks: list[Row] = [
            {"click": each.id, "view": each.view, "page": each.page} for each in clicks
        ]
        self.searches: list[Row] = [
            json.loads(event.value) for event in events if event.kind == "search"
        ]
        self.letters = [
            (event.value, event.visitor) for event in events if event.kind == "malformed"
        ]
        self.dropped = 9

    def broken(self) -> list[str]:
        account = self.account
        checks = {
            "sent": account.check_sent(self.acknowledged, self.in_topic),
            "views": account.check_views("topic", self.counts),
            "clicks": account.check_clicks("topic", self.clicks),
            "searches": account.check_searches("table", self.searches),
            "malformed": account.check_malformed(self.letters),
            "forgotten": account.check_forgotten(self.dropped),
            "sum": account.check_sum(),
        }
        return [name for name, check in checks.items() if not check.kept]


def test_honest_books_break_no_promise() -> None:
    assert Books().broken() == []


def lose_record(books: Books) -> None:
    books.in_topic -= 1


def store_record_twice(books: Books) -> None:
    books.in_topic += 1


def lose_acknowledgement(books: Books) -> None:
    books.acknowledged -= 1


def lose_count(books: Books) -> None:
    books.counts.pop()


def write_count_twice(books: Books) -> None:
    books.counts.append(books.counts[0])


def lose_view(books: Books) -> None:
    books.counts[0] = {**books.counts[0], "views": books.counts[0]["views"] - 1}


def count_view_in_wrong_minute(books: Books) -> None:
    books.counts[0] = {**books.counts[0], "views": books.counts[0]["views"] - 1}
    books.counts[1] = {**books.counts[1], "views": books.counts[1]["views"] + 1}


def invent_count(books: Books) -> None:
    books.counts.append({"page": "/none", "minute": OPENING.isoformat(), "views": 1})


def count_forgotten_view(books: Books) -> None:
    yesterday = (OPENING - timedelta(days=1)).isoformat()
    books.counts.append({"page": "/", "minute": yesterday, "views": 1})
    books.dropped -= 1


def lose_click(books: Books) -> None:
    books.clicks.pop()


def join_click_twice(books: Books) -> None:
    books.clicks.append(books.clicks[3])


def join_other_view(books: Books) -> None:
    books.clicks[0] = {**books.clicks[0], "view": books.clicks[1]["view"]}


def lose_search(books: Books) -> None:
    books.searches.pop(0)


def store_search_twice(books: Books) -> None:
    books.searches.append(books.searches[0])


def lose_letter(books: Books) -> None:
    books.letters.pop()


def write_letter_twice(books: Books) -> None:
    books.letters.append(books.letters[0])


def alter_letter(books: Books) -> None:
    books.letters[0] = (books.letters[0][0] + b" ", books.letters[0][1])


def drop_too_much(books: Books) -> None:
    books.dropped += 1


def forget_a_kind(books: Books) -> None:
    books.account.searches.popitem()
    books.searches.pop()


@pytest.mark.parametrize(
    ("wrong", "promises"),
    [
        (lose_record, ["sent"]),
        (store_record_twice, ["sent"]),
        (lose_acknowledgement, ["sent"]),
        (lose_count, ["views"]),
        (write_count_twice, ["views"]),
        (lose_view, ["views"]),
        (count_view_in_wrong_minute, ["views"]),
        (invent_count, ["views"]),
        (count_forgotten_view, ["views", "forgotten"]),
        (lose_click, ["clicks"]),
        (join_click_twice, ["clicks"]),
        (join_other_view, ["clicks"]),
        (lose_search, ["searches"]),
        (store_search_twice, ["searches"]),
        (lose_letter, ["malformed"]),
        (write_letter_twice, ["malformed"]),
        (alter_letter, ["malformed"]),
        (drop_too_much, ["forgotten"]),
        (forget_a_kind, ["sum"]),
    ],
)
def test_a_broken_promise_is_noticed(wrong: Callable[[Books], None], promises: list[str]) -> None:
    books = Books()
    wrong(books)
    assert books.broken() == promises


class OrderBooks:
    """What honest pipelines make of a shop's orders."""

    def __init__(self) -> None:
        self.shop = Shop(None)  # type: ignore[arg-type]
        first, *others = Traffic(5, 6, 60).by_minute()
        self.shop.take(first)
        self.shop.may_cancel = True
        for events in others:
            self.shop.take(events)
        orders = self.shop.orders.values()
        self.changes: list[Row] = [
            {"op": "c", "id": each.id, "view": each.view, "amount": float(each.amount)}
            for each in orders
        ] + [{"op": "d", "id": each} for each in sorted(self.shop.cancelled)]
        self.rows = [
            (each.id, each.view, each.amount)
            for each in orders
            if each.id not in self.shop.cancelled
        ]
        self.joined: list[Row] = [each._asdict() for each in orders]

    def broken(self) -> list[str]:
        checks = {
            "changes": self.shop.check_changes(self.changes),
            "replay": self.shop.check_replay(self.changes, self.rows),
            "joined": self.shop.check_joined(self.joined),
        }
        return [name for name, check in checks.items() if not check.kept]


def test_orders_that_are_lost_doubled_or_changed_are_noticed() -> None:
    books = OrderBooks()
    assert books.broken() == []
    assert len(books.changes) == books.shop.changes > len(books.rows)
    for wrong, promises in (
        (lambda books: books.changes.pop(), ["changes", "replay"]),
        (lambda books: books.changes.append(books.changes[0]), ["changes"]),
        (lambda books: books.changes.reverse(), ["replay"]),
        (lambda books: books.rows.pop(), ["replay"]),
        (lambda books: books.joined.pop(), ["joined"]),
        (lambda books: books.joined.append(books.joined[0]), ["joined"]),
        (lambda books: books.joined[0].update(page="/none"), ["joined"]),
    ):
        books = OrderBooks()
        wrong(books)
        assert books.broken() == promises


def test_nothing_is_no_proof() -> None:
    nothing = Account([])
    checks = [
        nothing.check_sent(0, 0),
        nothing.check_views("topic", []),
        nothing.check_clicks("topic", []),
        nothing.check_searches("table", []),
        nothing.check_malformed([]),
        nothing.check_forgotten(0),
    ]
    assert not any(check.kept for check in checks)


def test_times_of_a_table_and_of_a_topic_are_the_same() -> None:
    books = Books()
    naive = [
        {"page": page, "minute": minute, "views": views}
        for (page, minute), views in books.account.views.items()
    ]
    assert books.account.check_views("table", naive).kept


def test_the_verdict_names_what_was_not_kept() -> None:
    kept, lost = Check("one is one", True, "1"), Check("every view counts", False, "1 lost")
    assert verdict([kept]) == ("All promises kept.", 0)
    assert verdict([kept, lost]) == ("Not kept: every view counts.", 1)


# -- what is shown -------------------------------------------------------------------------------


def status(name: str, state: str = "running", **more: object) -> dict[str, Any]:
    figures = {"batch": 3, "batch_duration_ms": 120, "rows_in": 1000, "rows_out": 17, "lag": 0}
    told = {"pipeline": name, "state": state, "error": None, "watermark": None}
    return {**told, **figures, **more}


def test_both_views_tell_the_same_story(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage(Website(None, "activity"), "activity")  # type: ignore[arg-type]
    healthy = ClusterView(
        {1: True, 2: True}, 1, {0: 1, 1: 2}, {0: [1, 2], 1: [1, 2]}, {0: [1, 2], 1: [1, 2]}
    )
    hurt = ClusterView(
        {1: False, 2: True}, 2, {0: 2, 1: 2}, {0: [2], 1: [2]}, {0: [1, 2], 1: [1, 2]}
    )
    console = Console(width=120, record=True, file=io.StringIO())
    with PlainView(stage) as plain:
        for cluster in (healthy, hurt, healthy):
            stage.update_cluster(cluster)
            stage.sample()
            plain.show()
        stage.heard_from_spark(status("views_per_minute"))
        assert not stage.knows_the_time
        stage.heard_from_spark(status("views_per_minute", "waiting", error="no leader"))
        at = "2026-01-01T11:59:00.000Z"
        stage.heard_from_spark(status("views_per_minute", watermark=at))
        stage.heard_from_spark(status("clicked_views", watermark=at))
        assert stage.knows_the_time
        console.print(picture(stage, 40))
    lines, drawn = capsys.readouterr().out, console.export_text()
    for text in (
        "node 1 is gone",
        "node 2 is the controller now",
        "new leaders: node 2 leads partition 0",
        "the website's clock ",
        "every replica is in sync",
        "views_per_minute has failed, and is started again: no leader",
        "views_per_minute goes on",
    ):
        assert text in lines
    for text in ("views_per_minute goes on", "11:59", "node 2", "1,000"):
        assert text in drawn


# -- pauses --------------------------------------------------------------------------------------


def test_a_pause_is_the_longest_gap_of_any_partition_after_the_kill() -> None:
    steady = [number / 10 for number in range(100)]
    paused = [t for t in steady if not 5.05 < t < 5.75]
    early = [t for t in steady if not 1.05 < t < 3.05]
    times = {0: steady, 1: paused, 2: early}
    assert pause_s(times, 5.0) == pytest.approx(0.8)
    assert pause_s(times, 6.0) == pytest.approx(0.1)
    kept = check_pause({**times, 0: [*steady, 60.0]}, 5.0, 9.95)
    assert kept.kept
    assert kept.evidence == "longest pause of a partition 0.80 s"


def test_writes_that_never_went_on_break_a_promise() -> None:
    assert not check_pause({0: [1.0, 9.0], 1: [1.0, 4.9]}, 5.0, 9.5).kept
    assert not check_pause({0: [1.0, 9.0], 1: [10.0]}, 5.0, 9.5).kept
    assert not check_pause({}, 5.0, 9.5).kept


def test_a_node_that_does_not_come_back_breaks_a_promise() -> None:
    assert check_return(10.0, 14.5) == Check(
        "the killed node came back by itself, and has everything", True, "in sync after 4.5 s"
    )
    assert not check_return(10.0, None).kept


# -- replicas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copies", "kept"),
    [
        ([b"abc", b"abc", b"abc"], True),
        ([b"abc", b"abc", b"abd"], False),
        ([b"abc", b"abc"], False),
        ([b"", b"", b""], False),
    ],
)
def test_copies_are_compared_byte_by_byte(tmp_path: Path, copies: list[bytes], kept: bool) -> None:
    for number, copy in enumerate(copies, 1):
        directory = tmp_path / f"node-{number}" / "views-0"
        directory.mkdir(parents=True)
        (directory / "00000000000000000000.log").write_bytes(copy)
    assert same_copies(tmp_path, {"views": 1}).kept is kept
