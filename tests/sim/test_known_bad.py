"""A simulator that finds nothing proves nothing: with a rule broken, it must find a violation."""

import pytest

from tests.sim.fork_server import ForkServer
from tests.sim.variants import VARIANTS

_HINT = """
The seeds that are tried show it no longer: either the simulator has become blind to it, or the
code draws other numbers, so that each seed is another run. This searches for another seed:

    PYTHONHASHSEED=0 python -m tests.sim.find_violation '{name}' --search

and this pins new ones for all rules that need one:

    PYTHONHASHSEED=0 python -m tests.sim.find_violation --repin
"""


@pytest.mark.parametrize("name", VARIANTS)
def test_the_simulator_finds(name: str, forks: ForkServer) -> None:
    done = forks.run("tests.sim.find_violation", name)
    assert done.code == 0, f"{done}{_HINT.format(name=name)}"
    assert done.output.startswith("seed ")


@pytest.mark.parametrize("name", [name for name, variant in VARIANTS.items() if variant.schedule])
def test_a_schedule_alone_violates_nothing(name: str, forks: ForkServer) -> None:
    done = forks.run("tests.sim.find_violation", name, "--unbroken")
    assert done.code == 0, str(done)
