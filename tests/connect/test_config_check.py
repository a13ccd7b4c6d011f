"""The user's code is checked in a child process: it can't hang the service, nor end it."""

import asyncio
from pathlib import Path

import pytest

from barnabas.connect.config_check import config_errors, config_validation

CODE = """
import os, sys, threading, time
from pathlib import Path
from barnabas.spark.pipelines import Connector

class Lines(Connector):
    def __init__(self, path):
        print("made")
        Path(__file__).with_name("made").write_text(str(os.getpid()))
        threading.Thread(target=time.sleep, args=(600,)).start()
        if path == "hangs":
            time.sleep(600)
        if path == "ends":
            sys.stderr.write("the class has had enough\\n")
            os._exit(7)
        if path == "raises":
            raise OSError("no such device")

    def schema(self):
        return "line STRING"

    def latest(self, start):
        return start

    def read(self, start, end):
        return []
"""
CONFIG = {
    "name": "lines",
    "connector.class": "from_connector",
    "connector": "user_lines:Lines",
    "topic": "lines",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "user_lines.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "setting", "said"),
    [
        ("fine", None, ""),
        ("raises", "connector.class", "OSError: no such device"),
        ("ends", "connector", "ended with exit code 7: the class has had enough"),
        pytest.param("hangs", "connector", "took more than 30 s", marks=pytest.mark.long),
    ],
)
def test_a_class_of_the_user_s(folder: Path, path: str, setting: str | None, said: str) -> None:
    limit_s = 30 if path == "hangs" else 300  # the child imports Spark's library first
    found = asyncio.run(config_errors({**CONFIG, "path": path}, folder, limit_s)).found
    assert (folder / "made").exists()
    assert list(found) == ([] if setting is None else [setting])
    assert said in " ".join(message for each in found.values() for message in each)
    child = int((folder / "made").read_text())
    assert not Path(f"/proc/{child}").exists(), "nothing is left"


def test_validation_says_it_in_the_shape_of_kafka_connect(folder: Path) -> None:
    found = asyncio.run(config_validation("from_connector", CONFIG, folder))
    assert found["error_count"] == 1
    assert not (folder / "made").exists(), "an argument is missing"


def test_a_class_in_the_sql_of_a_pipeline(folder: Path) -> None:
    sql = "-- source a: connector user_lines:Lines path=raises\n-- sink: topic b\nSELECT * FROM a"
    config = {"name": "p", "connector.class": "pipeline", "pipeline.sql": sql}
    found = asyncio.run(config_errors(config, folder)).found
    assert "no such device" in str(found)
