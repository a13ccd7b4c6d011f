"""Dead letters that a replay has seen and not sent back: they must not be deleted as replayed."""

from barnabas.dead_letters.passed_over import PassedOver


def test_ranges_are_kept_as_text() -> None:
    passed = PassedOver().after([(3, True), (4, True), (7, False), (9, True)])
    assert passed.ranges == ((3, 4), (9, 9))
    assert passed.encode() == "passed-over: 3-4,9"
    assert PassedOver.decode(passed.encode()) == passed
    assert PassedOver.decode("") == PassedOver.decode("passed-over:x") == PassedOver()


def test_of_a_range_that_is_deleted_in_part_the_rest_stays() -> None:
    passed = PassedOver(((3, 6), (9, 9)))
    assert passed.since(0) == passed.since(3) == passed
    assert passed.since(5).ranges == ((5, 6), (9, 9))
    assert passed.since(6).ranges == ((6, 6), (9, 9))
    assert passed.since(7).ranges == ((9, 9),)
    assert passed.since(10).first is None


def test_with_many_ranges_the_last_ones_become_one_that_is_inexact() -> None:
    passed = PassedOver().after((offset, offset % 2 == 0) for offset in range(4_000))
    assert len(passed.encode()) <= 4_000
    assert PassedOver.decode(passed.encode()) == passed
    assert all(passed.has(offset) for offset in range(0, 4_000, 2))
    assert passed.is_known(600)
    assert not passed.has(601)
    assert not passed.has(4_000)
    assert passed.inexact == ((passed.ranges[-1][1] + 2, 3_998),)
    assert passed.is_uncertain(3_001)
    assert not passed.is_known(3_000)
    more = passed.since(3_000).after([(4_000, True)])
    assert (more.ranges, more.inexact) == (((4_000, 4_000),), ((3_000, 3_998),))
    assert more.first == 3_000
    assert more.encode() == "passed-over: +3000-3998,4000"


def test_what_is_read_again_shrinks_by_those_that_are_sent() -> None:
    passed = PassedOver(((3, 9), (12, 12), (20, 30)), ((14, 18),))
    # 4, 6 and 8 have no letters; 5 is sent.
    half = passed.again(3, 8, [(3, True), (5, False), (7, True)])
    assert half == PassedOver(((3, 3), (7, 9), (12, 12), (20, 30)), ((14, 18),))
    whole = half.again(8, 31, [(9, False), (12, True), (20, True), (30, True)])
    assert whole.ranges == ((3, 3), (7, 7), (12, 12), (20, 30))
    assert whole.again(3, 31, []) == PassedOver((), ((14, 18),))


def test_a_text_of_an_earlier_version_with_all_of_its_ranges_ends_inexactly() -> None:
    pairs = [(offset, offset) for offset in range(0, 120, 2)]
    text = "passed-over:" + ",".join(f"{first}-{last}" for first, last in pairs)
    assert PassedOver.decode(text) == PassedOver(tuple(pairs[:-1]), (pairs[-1],))
    fewer = text.removesuffix(",118-118")
    assert PassedOver.decode(fewer) == PassedOver(tuple(pairs[:-1]))
    assert PassedOver.decode(PassedOver(tuple(pairs)).encode()) == PassedOver(tuple(pairs))
