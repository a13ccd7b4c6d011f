"""The ledger of soaks: what goes in comes out, added up by commit."""

from pathlib import Path

from barnabas.sim.ledger import Entry, append, history, reached_by, read

CLEAN = Entry("a" * 40, "2026-11-19T01:00:00+00:00", None, 600, 7200.0, 600.0, [], {"x": 5})
AGAIN = Entry(
    "a" * 40, "2026-11-20T02:30:00+00:00", None, 400, 3600.0, 400.0, [], {"x": 1, "y": 2}, 90
)
FAILED = Entry("b" * 40 + "+", "2026-11-21T00:00:00+00:00", "kills", 7, 70.0, 10.0, ["SEED=17: no"])


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "ledger.jsonl"
    assert read(path) == []
    append(path, CLEAN)
    append(path, FAILED)
    assert read(path) == [CLEAN, FAILED]


def test_soaks_of_a_commit_add_up() -> None:
    told = history([CLEAN, FAILED, AGAIN], ["x", "y", "z"])
    head, first, share, second, *rest = told.splitlines()
    assert head.split()[:2] == ["commit", "last"]
    assert first.split() == [
        "a" * 10,
        "2026-11-20",
        "02:30",
        "1,000",
        "90",
        "3.0",
        "10.8",
        "2/3",
        "0",
    ]
    assert "0.30%" in share
    assert second.split() == [
        "b" * 10 + "+",
        "2026-11-21",
        "00:00",
        "7",
        "0",
        "0.0",
        "7.0",
        "0/3",
        "1",
    ]
    assert rest[-1].split() == ["b" * 10 + "+", "SEED=17:", "no"]
    assert reached_by([CLEAN, AGAIN]) == {"x": 6, "y": 2}


def test_an_empty_ledger_says_how_to_fill_it() -> None:
    assert "make soak" in history([], ["x"])
