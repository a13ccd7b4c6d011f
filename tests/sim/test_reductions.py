"""Runs that leave something out, as the command makes them."""

import re

from tests.sim.fork_server import ForkServer

SEED = "1"


def _faults(output: str) -> list[int]:
    return [int(number) for number in re.findall(r"^ +[\d.]+ +fault (\d+): ", output, re.MULTILINE)]


def test_only_the_named_faults_are_made(forks: ForkServer) -> None:
    chosen = ("barnabas.sim", "--seed", SEED, "--faults", "2", "--without", "members,real client")
    done = forks.run(*chosen)
    assert done.code == 0, str(done)
    assert _faults(done.output) == [2]
    assert forks.run(*chosen).output == done.output


def test_a_shorter_run_has_fewer_faults(forks: ForkServer) -> None:
    short = forks.run("barnabas.sim", "--seed", SEED, "--faulty-ms", "1200")
    assert short.code == 0, str(short)
    whole = forks.run("barnabas.sim", "--seed", SEED)
    assert len(_faults(short.output)) < len(_faults(whole.output))


def test_a_part_that_there_is_not_is_refused(forks: ForkServer) -> None:
    done = forks.run("barnabas.sim", "--seed", SEED, "--without", "conusmers")
    assert done.code == 2
    assert "unknown: conusmers" in done.errors
