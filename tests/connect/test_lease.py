"""A driver that hangs is ended when its service no longer leads."""

import subprocess
import sys

from barnabas.connect.driver.lease import Lease
from barnabas.connect.lease_clock import lease_time

HANGS = """
import sys, time
from barnabas.connect.driver.lease import Lease
from barnabas.connect.lease_clock import lease_time
lease = Lease(lambda: print("killed Spark", flush=True))
lease.extend(lease_time() + float(sys.argv[1]))
lease.in_use = sys.argv[2] == "in use"
lease.watch()
time.sleep(float(sys.argv[3]))
"""


def run(lease_s: float, use: str, works_s: float) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", HANGS, str(lease_s), use, str(works_s)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_outlives_its_lease_is_ended_by_force() -> None:
    ended = run(0.1, "in use", 120)
    assert (ended.returncode, ended.stdout) == (3, "killed Spark\n")
    assert "its lease has ended" in ended.stderr


def test_an_idle_driver_needs_no_lease() -> None:
    assert run(0.1, "idle", 1.5).returncode == 0


def test_a_lease_that_is_extended_goes_on() -> None:
    lease = Lease(lambda: None)
    assert not lease.is_valid
    lease.extend(lease_time() + 60)
    assert lease.is_valid
