"""Regular expressions for names of topics, in linear time.

syntax.py    a pattern, parsed: RE2's syntax
program.py   a pattern as a non-deterministic automaton
pattern.py   matching: all states of the automaton at once

Members send patterns, so they may be hostile. Python's `re` backtracks, and takes exponential time
for some of them. Here the time for a name is at most its length times the length of the program.
"""

from barnabas.groups.regex.pattern import TopicPattern
from barnabas.groups.regex.syntax import InvalidPattern

__all__ = ["InvalidPattern", "TopicPattern"]
