"""What tasks have reported, for the note of the driver.

A task tells what lasts in each of its reports, once a second, so the last reports say what goes
wrong at present. That data was lost is told once, and is kept for long enough to be seen.
"""

from collections.abc import Sequence

from barnabas.mirror.copy_report import DATA_LOST

LOST_FOR_S = 600.0


class ReportedProblems:
    """Of all tasks of a flow."""

    def __init__(self) -> None:
        self._present: dict[str, None] = {}  # ordered, each once
        self._lost_until: dict[str, float] = {}

    def take(self, reports: Sequence[Sequence[str]], now: float) -> None:
        """The problems of each report since the last call; without any report, nothing changes."""
        if not reports:
            return
        told = dict.fromkeys(each for report in reports for each in report)
        lost = [each for each in told if each.startswith(DATA_LOST)]
        self._lost_until.update(dict.fromkeys(lost, now + LOST_FOR_S))
        self._present = {each: None for each in told if each not in self._lost_until}

    def lines(self, now: float) -> list[str]:
        """What to tell now; losses first, as a note has not room for everything."""
        self._lost_until = {each: at for each, at in self._lost_until.items() if at > now}
        return [*self._lost_until, *self._present]
