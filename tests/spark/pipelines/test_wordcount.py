"""docs/first-pipeline.md, the word count, runs as it is written, with a broker and Spark."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import MakeBroker
from tests.examples.documents import ROOT, environment, run, steps

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]

PAGE = ROOT / "docs" / "first-pipeline.md"
_RUN = "barnabas pipeline run"
_PATIENCE_S = 300


def test_the_page_counts_words(make_broker: MakeBroker, tmp_path: Path) -> None:
    bootstrap = make_broker().bootstrap
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "wordcount.sql", tmp_path / "examples")
    output = tmp_path / "output"
    running: subprocess.Popen[bytes] | None = None
    try:
        for step in steps(PAGE):
            if step.source.startswith(_RUN):
                with output.open("wb") as file:
                    running = subprocess.Popen(
                        ["bash", "-c", f"exec {step.source}"],
                        cwd=tmp_path,
                        env=environment(bootstrap, tmp_path),
                        stdout=file,
                        stderr=subprocess.STDOUT,
                    )
            else:
                run(step, bootstrap, tmp_path, timeout_s=_PATIENCE_S)
        assert running is not None
        running.send_signal(signal.SIGINT)
        assert running.wait(_PATIENCE_S) == 130, output.read_text()
        said = output.read_text().splitlines()
        assert said[0].startswith("starting Spark on ")
        assert "wordcount  stopped" in said[-1]
        assert "  total in 2, out 8  " in said[-1]
        assert not any("Traceback" in line for line in said)
    finally:
        if running is not None:
            running.kill()
            running.wait()


def test_the_page_shows_the_file_that_it_runs() -> None:
    text = (ROOT / "examples" / "wordcount.sql").read_text()
    assert f"```sql\n{text}```" in PAGE.read_text()
