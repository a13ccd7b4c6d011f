"""What a session is set to where that depends on the machine."""

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from barnabas.spark.sessions import tuned_session
from barnabas.spark.sessions.tuned_session import _settings

SOCKETS = "spark.python.unix.domain.socket.enabled"


@pytest.mark.parametrize(("length", "used"), [(4, "true"), (60, "true"), (61, "false")])
def test_a_long_folder_for_temporary_files_is_no_place_for_sockets(
    monkeypatch: pytest.MonkeyPatch, length: int, used: str
) -> None:
    monkeypatch.setattr(tuned_session.tempfile, "gettempdir", lambda: "/" + "t" * (length - 1))
    for master in ("local[2]", "spark://host:7077"):
        assert _settings(master)[SOCKETS] == used


def test_shuffles_are_as_wide_as_the_machine() -> None:
    shuffles = "spark.sql.shuffle.partitions"
    assert _settings("local[3]")[shuffles] == "3"
    assert shuffles not in _settings("spark://host:7077")


def test_workers_that_have_pyspark_in_a_zip_file_can_load_the_connector() -> None:
    packed = sorted((Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip"))
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]; import barnabas.spark, pyspark; "
        "assert '.zip' in pyspark.__file__, pyspark.__file__"
    )
    subprocess.run([sys.executable, "-c", program, *map(str, packed)], check=True)
