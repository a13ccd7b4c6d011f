"""Signed backups: what someone who can write to the store can't make a restore do."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.backup.manifest import Point
from barnabas.backup.points import previous_point, read_points, write_partial, write_point
from barnabas.backup.restore_plan import plan_restore
from barnabas.backup.signature import SigningKey, create_key, load_key
from barnabas.backup.store import open_store
from barnabas.errors import InvalidArgument
from tests.backup.support import Source, backup, records

RULE = [2, "*", 3, "User:mallory", "*", 2, 3]
BODY = Callable[[dict[str, Any]], object]


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "backup.key"
    backup("keygen", str(path))
    return str(path)


@pytest.fixture
def place(tmp_path: Path, key: str) -> str:
    """A backup with three signed points, of no topics."""
    folder = str(tmp_path / "backup")
    for number in (1, 2, 3):
        point = Point(f"run{number}", number * 1000, "cluster", acls=[RULE] * number)
        write_point(open_store(folder), point, load_key(Path(key)))
    return folder


def points_of(place: str) -> list[Path]:
    return sorted((Path(place) / "points").iterdir())


def forge(path: Path, change: BODY, **stored: object) -> None:
    """Change a point as someone does who can write to the store, and knows the format."""
    content = json.loads(path.read_text())
    change(content["point"])
    text = json.dumps(content["point"], sort_keys=True, separators=(",", ":"))
    content |= {"sha256": hashlib.sha256(text.encode()).hexdigest(), **stored}
    kept = {name: value for name, value in content.items() if value is not None}
    path.write_text(json.dumps(kept))


def test_a_key_file_is_for_its_owner_only_and_never_replaced(key: str) -> None:
    assert Path(key).stat().st_mode & 0o777 == 0o600
    before = Path(key).read_bytes()
    assert len(before) >= 32
    assert "another name" in backup("keygen", key, code=1).stderr
    assert Path(key).read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda point: point["acls"].append(RULE),
        lambda point: point["quotas"].append({"entity": ["u", None, None], "limits": {"x": 1.5}}),
        lambda point: point["broker_configs"].update({"": {"super.users": "User:mallory"}}),
        lambda point: point["users"].update(mallory={"SCRAM-SHA-512": 4096}),
        lambda point: point.update(cluster_id="another"),
        lambda point: point["topics"].update(
            t={
                "topic_id": "00",
                "replication_factor": 1,
                "configs": {},
                "partitions": [{"start": 0, "end": 0, "files": []}],
            }
        ),
    ],
    ids=["acls", "quotas", "settings", "users", "cluster", "topics"],
)
def test_a_changed_point_is_refused(place: str, key: str, change: BODY) -> None:
    last = points_of(place)[-1]
    forge(last, change)
    done = backup("restore", place, "--key-file", key, code=1)
    assert f"signature of points/{last.name} is wrong" in done.stderr
    assert last.name in backup("verify", place, "--key-file", key, code=1).stdout
    forge(last, lambda _: None, hmac_sha256=None)
    assert "is not signed" in backup("restore", place, "--key-file", key, code=1).stderr
    done = backup("verify", place, "--key-file", key, code=1)
    assert "is not signed" in done.stdout
    assert "1 damaged" in done.stderr


def test_an_old_point_can_not_pass_for_the_last_one(place: str, key: str) -> None:
    first, _, last = points_of(place)
    last.write_bytes(first.read_bytes())
    assert "was renamed" in backup("restore", place, "--key-file", key, code=1).stderr
    assert last.name in backup("verify", place, "--key-file", key, code=1).stdout


def test_both_points_of_a_time_between_them_are_checked(place: str) -> None:
    points = read_points(open_store(place))
    assert plan_restore(points, 2500).points == points[1:]
    assert plan_restore(points, 500).points == points[:1]
    assert plan_restore(points).points == points[2:]


def test_a_changed_later_point_is_refused_in_a_restore_in_time(place: str, key: str) -> None:
    forge(points_of(place)[-1], lambda point: point["users"].update(mallory={}))
    done = backup("restore", place, "--at", "2500", "--key-file", key, code=1)
    assert "is wrong" in done.stderr


def test_a_signed_backup_wants_its_key(place: str, key: str, tmp_path: Path) -> None:
    done = backup("restore", place, code=1)
    assert "--key-file" in done.stderr
    assert "--unverified" in done.stderr
    done = backup("verify", place)
    assert "3 signatures not checked" in done.stderr
    other = tmp_path / "other.key"
    create_key(other)
    assert "another key" in backup("restore", place, "--key-file", str(other), code=1).stderr
    assert "either" in backup("restore", place, "--key-file", key, "--unverified", code=2).stderr
    done = backup("verify", place, "--key-file", key)
    assert "all sound\n3 signatures checked\n" in done.stderr
    shown = json.loads(backup("show", place, "--json").stdout)
    assert [each["signed"] for each in shown] == [True] * 3


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"short\n", "has 5 bytes"), (b"x" * 31 + b"\n" * 9, "has 31 bytes"), (None, "can't be read")],
)
def test_a_key_that_is_none(place: str, tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "bad.key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidArgument, match=said):
        load_key(file)
    assert said in backup("verify", place, "--key-file", str(file), code=2).stderr


def test_a_key_in_the_backup_or_open_to_others(place: str, key: str) -> None:
    inside = Path(place) / "backup.key"
    inside.write_bytes(Path(key).read_bytes())
    assert "is in the backup" in backup("verify", place, "--key-file", str(inside), code=2).stderr
    Path(key).chmod(0o644)
    assert f"chmod 600 {key}" in backup("verify", place, "--key-file", key).stderr


def test_an_unfinished_run_counts_only_if_it_is_signed(tmp_path: Path) -> None:
    store, key, other = open_store(str(tmp_path)), SigningKey(b"a" * 32), SigningKey(b"b" * 32)
    write_point(store, Point("last", 1000), key)
    partial = Point("partial", 2000)
    for signed_by, reader, run in (
        (key, key, "partial"),
        (other, key, "last"),
        (None, key, "last"),
        (key, None, "last"),
        (None, None, "partial"),
    ):
        write_partial(store, partial, signed_by)
        found = previous_point(store, reader)
        assert found is not None
        assert found.run == run


def test_a_signed_run_does_not_vouch_for_what_is_not_signed(
    source: Source, target: str, key: str
) -> None:
    topic = source.topic("orders")
    source.send(topic, range(20))
    assert source.create()["signed"] is False
    signing = ("--key-file", key)
    refused = backup("create", source.place, *signing, bootstrap=source.bootstrap, code=1)
    assert "is not signed" in refused.stderr
    assert "--full" in refused.stderr
    made = source.create("--full", *signing)
    assert made["signed"] is True
    assert made["copied_bytes"] > 0
    source.send(topic, range(20, 30))
    assert source.create(*signing)["records"] == 30
    forgotten = backup("create", source.place, bootstrap=source.bootstrap, code=2)
    assert "--key-file" in forgotten.stderr
    last = points_of(source.place)[-1]
    kept = last.read_bytes()
    forge(last, lambda point: point["acls"].append(RULE))
    refused = backup("create", source.place, *signing, bootstrap=source.bootstrap, code=1)
    assert "was changed, or signed with another key" in refused.stderr
    last.write_bytes(kept)
    done = backup("restore", source.place, *signing, bootstrap=target)
    assert "not verified" not in done.stderr
    assert records(target, topic) == source.records(topic)
    done = backup(
        "restore", source.place, "--unverified", "--prefix", "again.", "--allow-existing",
        bootstrap=target,
    )  # fmt: skip
    assert "warning: not verified" in done.stderr
    old = backup(
        "restore", source.place, "--point", "1", "--prefix", "old.", "--allow-existing",
        bootstrap=target,
    )  # fmt: skip
    assert "warning: not verified" in old.stderr
    assert len(records(target, f"old.{topic}")) == 20
