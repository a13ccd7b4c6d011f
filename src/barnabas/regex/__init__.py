"""Regular expressions in linear time, for names of topics and transactional ids.

syntax   a pattern, parsed: RE2's syntax
chars    one character of a set
program  a pattern as a non-deterministic automaton
pattern  matching: all states of the automaton at once

Clients send patterns, so they may be hostile. Python's `re` backtracks, and takes exponential time
for some of them. Kafka uses RE2, which never does. Here the time for a name is at most its length
times the length of the program. RE2 from PyPI would be a compiled dependency of every
installation, with no wheel for some systems, for a few short patterns.
"""

from barnabas.regex.pattern import LinearPattern
from barnabas.regex.syntax import InvalidPattern

__all__ = ["InvalidPattern", "LinearPattern"]
