"""Assignors of consumer groups, by the name that clients and settings use.

uniform.py   the same number of partitions for all, then as few moves as possible
range.py     ranges of each topic, so that equal topics are assigned alike
"""

from barnabas.groups.assignors.range import RangeAssignor
from barnabas.groups.assignors.uniform import UniformAssignor
from barnabas.groups.modern.assignor import Assignor

CONSUMER_ASSIGNORS: dict[str, Assignor] = {
    assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())
}

__all__ = ["CONSUMER_ASSIGNORS", "RangeAssignor", "UniformAssignor"]
