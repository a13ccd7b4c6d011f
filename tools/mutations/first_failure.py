"""A pytest plugin that writes the node id of the first failure to a file."""

import os
from pathlib import Path

import pytest

VARIABLE = "PYTEST_FIRST_FAILURE"
"""Names the file; tests drop variables with other prefixes."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _note(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _note(report.nodeid)


def _note(node_id: str) -> None:
    file = Path(os.environ[VARIABLE])
    if not file.exists():
        file.write_text(node_id)
