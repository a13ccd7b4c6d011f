"""Missing, changed, reordered and repeated records are found, whatever offsets they have."""

from barnabas.mirror.operations.comparison import DigestedRecord, compare


def records(text: str, start: int = 0, step: int = 1) -> list[DigestedRecord]:
    return [
        DigestedRecord(start + step * index, letter.encode()) for index, letter in enumerate(text)
    ]


def test_offsets_do_not_matter_nor_what_is_older_or_newer() -> None:
    found = compare("t", 0, records("abcd", 100, 3), records("xyabcdef", 7), range_records=2)
    assert found.is_equal
    assert [(each.start, each.end, each.records, each.copies) for each in found.ranges] == [
        (100, 104, 2, 2),
        (106, 110, 2, 2),
    ]
    assert all(each.source_checksum == each.target_checksum for each in found.ranges)


def test_what_is_missing_is_found_with_its_offset() -> None:
    found = compare("t", 0, records("abcd"), records("abd"))
    assert (found.missing, found.extra) == ([2], [])
    assert found.ranges[0].source_checksum != found.ranges[0].target_checksum
    assert compare("t", 0, records("abcd"), []).missing_count == 4


def test_what_is_there_twice_or_changed_is_found() -> None:
    found = compare("t", 0, records("abcd"), records("abbcd"))
    assert (found.missing, found.extra) == ([], [2])
    found = compare("t", 0, records("abcd"), records("abXd"))
    assert (found.missing, found.extra) == ([2], [2])


def test_what_is_out_of_order_is_found() -> None:
    assert not compare("t", 0, records("abcd"), records("acbd")).is_equal


def test_what_the_target_has_deleted_is_not_missing() -> None:
    found = compare("t", 0, records("abcd"), records("cd", 50), is_cut=True)
    assert (found.is_equal, found.expired) == (True, 2)
    assert not compare("t", 0, records("abcd"), records("cd", 50)).is_equal
