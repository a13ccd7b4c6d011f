"""What the check of the morning notices."""

from examples.night.night import Report
from examples.night.settings import TICK_S


def good() -> Report:
    report = Report(accepted={"a"}, reminders_due={"a"})
    for each in (report.payments, report.mails, report.reminders):
        each["a"] += 1
    report.paid["ada"] = report.totals["ada"] = 50
    report.closings.update(TICK_S * number for number in range(4))
    return report


def test_a_good_night() -> None:
    assert good().is_good


def test_what_is_lost_or_doubled_or_wrong() -> None:
    report = good()
    del report.reminders["a"]
    assert report.lost == {"a"}
    report = good()
    report.payments["a"] += 1
    assert report.doubled == ["a"]
    report = good()
    report.totals["ada"] += 10
    assert report.wrong_totals == ["ada"]
    assert not report.is_right


def test_the_books_are_closed_once_at_each_time() -> None:
    report = good()
    del report.closings[TICK_S]
    assert report.wrong_closings == [TICK_S]
    report = good()
    report.closings[TICK_S] += 1
    assert report.wrong_closings == [TICK_S]
    assert Report().wrong_closings
