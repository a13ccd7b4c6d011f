"""What a worker of `barnabas app run` passes on to programs that its application starts."""

import os
from pathlib import Path

import pytest

from barnabas.cli.application import run

PROGRAM = """
import os
from barnabas import App

class Seen(App):
    async def serve(self, **_):
        open({place!r}, "w").write(f"{{self.runs_timers}}\\n" + "\\n".join(os.environ))

app = Seen()
"""


def test_a_worker_does_not_pass_on_that_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An `app run` that a handler starts would end at once: it has another parent."""
    place = tmp_path / "seen"
    (tmp_path / "an_app_of_a_worker.py").write_text(PROGRAM.format(place=str(place)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(run, "_end_with", lambda _supervisor: None)
    monkeypatch.setenv(run.WORKER, "1")
    monkeypatch.setenv(run.SUPERVISOR, str(os.getppid()))
    run._run_here("an_app_of_a_worker:app", None, None, None, 1.0)
    runs_timers, *names = place.read_text().splitlines()
    assert runs_timers == "False"
    assert not {run.WORKER, run.SUPERVISOR} & set(names)
