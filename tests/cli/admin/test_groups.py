"""`barnabas groups`, and `barnabas consume --group`."""

import json
import signal
from collections.abc import Callable

import pytest

import barnabas
from tests.cli.conftest import Cli, committed, interrupt
from tests.support.wait import LIMIT_S, wait_until

NewTopic = Callable[..., str]
LINES = "".join(f"k{i}:{i}\n" for i in range(10))


def test_a_group_goes_on_where_it_was(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    first = cli.ok("consume", topic, "--group", group, "--from-beginning", "-n", "4")
    assert first.split() == ["0", "1", "2", "3"]
    assert committed(cli, group) == {0: 4}
    assert cli.ok("consume", topic, "--group", group, "--no-follow").split() == [
        str(i) for i in range(4, 10)
    ]
    (described,) = cli.json("groups", "describe", group)
    assert described["state"] == "Empty"
    assert described["members"] == []
    assert described["offsets"] == [
        {
            "topic": topic,
            "partition": 0,
            "committed_offset": 10,
            "end_offset": 10,
            "lag": 0,
            "member_id": None,
            "in_flight": None,
        }
    ]
    cli.ok("produce", topic, stdin="more\nand more\n")
    assert "Empty, 0 members, lag 2" in cli.ok("groups", "describe", group)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_member_that_is_told_to_stop_commits_and_leaves(
    cli: Cli, new_topic: NewTopic, number: int, code: int
) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    process = cli.start("consume", topic, "--group", group, "--from-beginning")
    assert process.stdout is not None
    for i in range(10):
        assert process.stdout.readline() == b"%d\n" % i
    (described,) = cli.json("groups", "describe", group)
    assert described["state"] == "Stable"
    (member,) = described["members"]
    assert member["partitions"] == [[topic, 0]]
    assert "stop its consumers" in cli.fails(1, "groups", "delete", group)
    reset = ["groups", "reset-offsets", group, "--topic", topic, "--to-earliest", "--execute"]
    assert "stop its consumers" in cli.fails(1, *reset)
    process.send_signal(number)
    assert process.wait(LIMIT_S) == code
    (described,) = cli.json("groups", "describe", group)
    assert described["state"] == "Empty"
    assert committed(cli, group) == {0: 10}


def test_who_has_committed_nothing_has_everything_before_it(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    with barnabas.Consumer(cli.bootstrap, topic, group=group, commit="manual") as consumer:
        assert len(consumer.poll(60)) == 10
        (described,) = cli.json("groups", "describe", group)
        (offset,) = described["offsets"]
        assert (offset["committed_offset"], offset["lag"]) == (None, 10)
        assert "1 member, lag 10" in cli.ok("groups", "describe", group)


@pytest.mark.long
def test_two_members_share_the_work(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(4)
    group = f"g-{topic}"
    members = [
        cli.start("consume", topic, "--group", group, "--from-beginning", "--json")
        for _ in range(2)
    ]

    def is_shared() -> bool:
        done = cli.run("groups", "describe", group, "--json")
        if done.returncode:
            return False
        (described,) = json.loads(done.stdout)
        shares = sorted(len(member["partitions"]) for member in described["members"])
        return bool(described["state"] == "Stable" and shares == [2, 2])

    wait_until(is_shared, "the members do not share")
    cli.ok(
        "produce", topic, "--key-separator", ":", stdin="".join(f"k{i}:{i}\n" for i in range(99))
    )
    wait_until(lambda: sum(committed(cli, group).values()) == 99, "not everything is committed")
    printed = []
    for member in members:
        code, out, _ = interrupt(member)
        assert code == 130
        printed.append([int(json.loads(line)["value"]) for line in out.splitlines()])
    assert all(printed)
    assert sorted(printed[0] + printed[1]) == list(range(99))


def test_resetting_shows_the_plan_first(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    reset = ["groups", "reset-offsets", group, "--topic", topic]
    plan = cli.run(*reset, "--to-offset", "3")
    assert plan.stdout.decode().splitlines()[1].split() == [topic, "0", "-", "3"]
    assert b"--execute" in plan.stderr
    assert "GROUP_ID_NOT_FOUND" in cli.fails(1, "groups", "describe", group)

    for options, expected in (
        (["--to-offset", "3"], 3),
        (["--shift-by", "2"], 5),
        (["--shift-by", "-99"], 0),
        (["--to-latest"], 10),
        (["--to-earliest"], 0),
        (["--to-time", "2999-01-01"], 10),
        (["--to-time", "10m ago"], 0),
        (["--to-offset", "99"], 10),
    ):
        done = cli.json(*reset, *options, "--execute")
        assert done["executed"]
        assert done["offsets"][0]["new_offset"] == expected
        assert committed(cli, group) == {0: expected}
    assert cli.ok("consume", topic, "--group", group, "--no-follow") == ""


@pytest.mark.long
def test_resetting_some_partitions_or_all_that_are_known(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    group = f"g-{topic}"
    cli.ok("groups", "reset-offsets", group, "--topic", f"{topic}:0,2", "--to-latest", "--execute")
    assert committed(cli, group) == {0: 0, 2: 0}
    done = cli.json("groups", "reset-offsets", group, "--all-topics", "--to-earliest")
    assert [row["partition"] for row in done["offsets"]] == [0, 2]
    for wrong in (
        ["--topic", topic],
        ["--to-latest"],
        ["--topic", topic, "--to-latest", "--to-earliest"],
        ["--topic", topic, "--all-topics", "--to-latest"],
        ["--topic", f"{topic}:7", "--to-latest"],
    ):
        cli.fails(2, "groups", "reset-offsets", group, *wrong)
    assert "needs a committed offset" in cli.fails(
        1, "groups", "reset-offsets", group, "--topic", topic, "--shift-by", "1"
    )


def test_listing_and_deleting(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    cli.ok("consume", topic, "--group", group, "--no-follow")
    listed = {row["group"]: row for row in cli.json("groups", "list")}
    assert listed[group]["state"] == "Empty"
    assert listed[group]["protocol_type"] == "consumer"
    done = cli.run("groups", "delete", group, "unknown")
    assert done.returncode == 1
    assert b"group unknown: it does not exist" in done.stderr
    assert group not in {row["group"] for row in cli.json("groups", "list")}


@pytest.mark.long
def test_a_group_of_the_consumer_protocol(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    with barnabas.Consumer(
        cli.bootstrap, topic, group=group, commit="manual", group_protocol="consumer"
    ) as consumer:
        assert len(consumer.poll(60)) == 10
        listed = {row["group"]: row for row in cli.json("groups", "list", "--type", "consumer")}
        assert (listed[group]["type"], listed[group]["state"]) == ("consumer", "Stable")
        assert group not in {
            row["group"] for row in cli.json("groups", "list", "--type", "classic")
        }
        (described,) = cli.json("groups", "describe", group)
        assert (described["type"], described["assignor"]) == ("consumer", "uniform")
        (member,) = described["members"]
        assert member["epoch"] == described["epoch"] == described["assignment_epoch"]
        assert member["partitions"] == member["target"] == [[topic, 0]]
        assert (member["protocol"], member["topics"]) == ("consumer", [topic])
        told = cli.ok("groups", "describe", group)
        assert f"consumer group {group}: Stable, 1 member, lag 10, assignor uniform, epoch" in told
        reset = [
            "groups",
            "reset-offsets",
            group,
            "--topic",
            topic,
            "--to-offset",
            "4",
            "--execute",
        ]
        assert "stop its consumers" in cli.fails(1, *reset)
        assert "stop its consumers" in cli.fails(1, "groups", "delete", group)
    cli.ok(*reset)
    assert cli.json("groups", "lag", group) == [
        {"group": group, "topic": topic, "behind": 1, "lag": 6}
    ]
    assert f"{group} {topic} 1 6" in [
        " ".join(line.split()) for line in cli.ok("groups", "lag").splitlines()
    ]
    cli.ok("groups", "delete", group)
    assert group not in {row["group"] for row in cli.json("groups", "list")}


@pytest.mark.long
def test_a_share_group(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    with barnabas.Queue(cli.bootstrap, topic, group=group, start="earliest") as queue:
        for job in queue:
            if job.value == b"5":
                job.accept()
                break
        (described,) = cli.json("groups", "describe", group)
        assert (described["type"], described["state"]) == ("share", "Stable")
        (member,) = described["members"]
        assert (member["partitions"], member["protocol"]) == ([[topic, 0]], "share")
        (offset,) = described["offsets"]
        # One is accepted; the queue has fetched the others ahead.
        assert offset["in_flight"]["acquired"] + offset["in_flight"]["released"] >= 4
        assert offset["in_flight"]["deliveries"].keys() == {"1"}
        told = cli.ok("groups", "describe", group)
        assert f"share group {group}: Stable, 1 member, backlog" in told
        columns = "TOPIC PARTITION START END BACKLOG IN_FLIGHT RELEASED DONE DELIVERIES"
        assert told.splitlines()[1].split() == columns.split()
        reset = [
            "groups",
            "reset-offsets",
            group,
            "--topic",
            topic,
            "--to-offset",
            "2",
            "--execute",
        ]
        assert "stop its consumers" in cli.fails(1, *reset)
    wait_until(lambda: cli.json("groups", "lag", group)[0]["lag"] == 4, "jobs are not accepted")
    (described,) = cli.json("groups", "describe", group)
    (offset,) = described["offsets"]
    assert (offset["committed_offset"], offset["end_offset"], offset["lag"]) == (6, 10, 4)
    assert offset["in_flight"]["acquired"] == 0
    cli.ok(*reset)
    assert cli.json("groups", "lag", group)[0]["lag"] == 8
    cli.ok("groups", "delete", group)
    assert group not in {row["group"] for row in cli.json("groups", "list")}


def test_lag_is_watched(cli: Cli, new_topic: NewTopic) -> None:
    topic = new_topic(lines=LINES)
    group = f"g-{topic}"
    cli.ok("consume", topic, "--group", group, "--from-beginning", "-n", "4")
    process = cli.start("groups", "lag", group, "--watch", "--interval", "0.2", "--json")
    assert process.stdout is not None
    (first,) = json.loads(process.stdout.readline())
    assert first == {
        "group": group,
        "topic": topic,
        "behind": 1,
        "lag": 6,
        "change_s": None,
    }
    cli.ok("produce", topic, stdin="more\n")
    while (row := json.loads(process.stdout.readline())[0])["lag"] == 6:
        assert row["change_s"] == 0
    assert row["lag"] == 7
    assert row["change_s"] >= 0
    assert interrupt(process)[0] == 130


def test_a_group_that_records_progress_is_not_deleted_by_accident(
    cli: Cli, new_topic: NewTopic
) -> None:
    topic = new_topic(lines=LINES)
    group = f"{topic}.replay"
    cli.ok("consume", topic, "--group", group, "--from-beginning", "-n", "4")
    listed = {each["group"]: each["records_progress"] for each in cli.json("groups", "list")}
    assert listed[group] is True
    refused = cli.fails(1, "groups", "delete", group)
    assert "the next replay sends them again" in refused
    assert "--forget-progress" in refused
    assert committed(cli, group) == {0: 4}
    cli.ok("groups", "delete", group, "--forget-progress")
    assert group not in {each["group"] for each in cli.json("groups", "list")}


def test_positions_of_a_mirror_are_no_lag(cli: Cli, new_topic: NewTopic) -> None:
    """They are offsets of another cluster: not compared with ends here, and not bounded by them."""
    topic = new_topic(lines=LINES)
    group = f"barnabas-mirror.A{topic}->B"
    reset = ["groups", "reset-offsets", group, "--topic", topic]
    cli.ok(*reset, "--to-offset", "4000", "--execute")
    assert committed(cli, group) == {0: 4000}
    cli.ok(*reset, "--shift-by", "-3996", "--execute")
    assert committed(cli, group) == {0: 4}
    assert "--to-offset" in cli.fails(1, *reset, "--to-latest")
    (described,) = cli.json("groups", "describe", group)
    assert [(each["end_offset"], each["lag"]) for each in described["offsets"]] == [(None, None)]
    assert "0 members, recorded by a mirror" in cli.ok("groups", "describe", group)
    assert cli.json("groups", "lag", group) == [
        {"group": group, "topic": topic, "behind": None, "lag": None}
    ]
    cli.ok("groups", "lag", group)
    findings = cli.run("cluster", "doctor").stdout.decode()
    assert group not in findings
    cli.ok("groups", "delete", group, "--forget-progress")
