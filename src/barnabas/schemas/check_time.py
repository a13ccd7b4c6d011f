"""How long comparing schemas may take: whoever writes them may mean harm.

A few hundred bytes can describe types that refer to each other in so many ways that comparing all
of them would never end.
"""

from collections.abc import Callable

from barnabas.schemas.schema import InvalidSchemaError

_MOST_S = 5.0
"""CPU time. A schema of thousands of fields takes a tenth of a second, with a few versions."""
_STEPS = 50


class CheckTime:
    """Of one check, of a schema against all versions that it is compared with.

    `clock` says how much CPU time was used; without one there is no limit.
    """

    def __init__(self, clock: Callable[[], float] | None = None, most_s: float = _MOST_S) -> None:
        self._most_s = most_s
        self._clock = clock or _standing
        self._end_s = self._clock() + most_s
        self._steps = 0

    def step(self) -> None:
        """Before each small part of the work. Raises `InvalidSchemaError`."""
        self._steps += 1
        if self._steps % _STEPS == 0:
            self.look()

    def look(self) -> None:
        """Before a larger one."""
        if self._clock() > self._end_s:
            raise InvalidSchemaError(
                f"comparing the schemas takes more than {self._most_s:g} s: there are too many "
                "versions, or combinations of types that refer to each other or of branches"
            )


def _standing() -> float:
    return 0.0
