"""Dead letters that a replay has seen and not sent back: they must not be deleted as replayed."""

from barnabas.dead_letters.passed_over import PassedOver


def test_ranges_are_kept_as_text() -> None:
    passed = PassedOver().plus(3, follows=False).plus(4, follows=True).plus(9, follows=False)
    assert passed.ranges == ((3, 4), (9, 9))
    assert PassedOver.decode(passed.encode()) == passed
    assert PassedOver.decode("") == PassedOver.decode("passed-over:x") == PassedOver()


def test_of_a_range_that_is_deleted_in_part_the_rest_stays() -> None:
    passed = PassedOver(((3, 6), (9, 9)))
    assert passed.since(0) == passed.since(3) == passed
    assert passed.since(5).ranges == ((5, 6), (9, 9))
    assert passed.since(6).ranges == ((6, 6), (9, 9))
    assert passed.since(7).ranges == ((9, 9),)
    assert passed.since(10).first is None


def test_with_many_ranges_the_last_one_grows() -> None:
    passed = PassedOver()
    for offset in range(0, 1_000, 2):
        passed = passed.plus(offset, follows=False)
    assert len(passed.encode()) < 4096
    assert all(passed.has(offset) for offset in range(0, 1_000, 2))
    assert not passed.has(1)
    assert not passed.has(1_000)
