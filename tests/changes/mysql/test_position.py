"""Places in the binlog of a MySQL server, across the rotation of its files."""

from barnabas.changes.mysql.position import BinlogPosition, binlog_position_of


def test_a_position_moves_to_the_next_file_and_keeps_the_rest() -> None:
    before = BinlogPosition("bin.000009", 5_000, signals=("a",))
    after = before.up_to(BinlogPosition("bin.000010", 4))
    assert after == BinlogPosition("bin.000010", 4, signals=("a",))
    assert after.lsn > before.lsn, "later, though its number of bytes is smaller"


def test_a_position_is_read_as_it_was_saved() -> None:
    position = BinlogPosition("bin.000010", 4, signals=("a", "b"))
    assert binlog_position_of(position.json()) == position
