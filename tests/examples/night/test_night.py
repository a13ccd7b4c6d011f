"""A short night of the shop: nothing is lost, nothing is doubled, and no hand helps."""

from pathlib import Path

import pytest

from examples.night.__main__ import run


@pytest.mark.long
def test_a_short_night(tmp_path: Path) -> None:
    report = run(15, 1, tmp_path)
    assert report is not None
    logs = "\n".join(each.read_text()[-1500:] for each in sorted(tmp_path.glob("*.log")))
    assert not report.lost, f"{report.text}\n{logs}"
    assert not report.doubled, f"{report.text}\n{logs}"
    assert report.is_right, f"{report.text}\n{logs}"
    assert report.kills.total() > 3
