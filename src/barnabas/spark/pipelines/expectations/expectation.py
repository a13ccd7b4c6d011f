"""A rule that rows have to meet.

A row passes if the condition is true. NULL counts as a failure, as it does in WHERE: a rule that
can't be decided for a row has not been met. `amount IS NULL OR amount > 0` lets NULL pass.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from barnabas.errors import InvalidArgument

OnFailure: TypeAlias = Literal["warn", "drop", "dead_letter", "fail"]
ON_FAILURE: tuple[OnFailure, ...] = get_args(OnFailure)


@dataclass(frozen=True)
class Expectation:
    """See `expect`."""

    condition: str
    name: str
    on_failure: OnFailure = "warn"

    def __post_init__(self) -> None:
        if not self.condition.strip():
            raise InvalidArgument(
                f"expectation {self.name or 'without a name'} has no condition: write one as "
                'expect("amount > 0")'
            )
        if self.on_failure not in ON_FAILURE:
            known = ", ".join(ON_FAILURE)
            raise InvalidArgument(
                f"expectation {self.name}: unknown on_failure {self.on_failure!r}; use {known}"
            )

    @property
    def reason(self) -> str:
        """The reason in a dead letter that failed it."""
        if self.name == self.condition:
            return f"expectation {self.condition}"
        return f"expectation {self.name}: {self.condition}"


def expect(
    condition: str, name: str | None = None, *, on_failure: OnFailure = "warn"
) -> Expectation:
    """A rule: a SQL condition that is true for valid rows.

    Rows that fail it are counted, and

    - `"warn"`: kept;
    - `"drop"`: dropped;
    - `"dead_letter"`: dropped, and their records go to the source's `dead_letters`;
    - `"fail"`: the pipeline stops with an error that shows such a row.

    Counts and errors show the name, or the condition if there is no name.
    """
    condition = condition.strip()
    return Expectation(condition, condition if name is None else name, on_failure)


def checked_rules(rules: Iterable[Expectation]) -> tuple[Expectation, ...]:
    """The rules of one place; raises `InvalidArgument` if two have the same name."""
    if isinstance(rules, str | Expectation):
        raise InvalidArgument('expect takes a list of rules: expect=[expect("amount > 0")]')
    found = tuple(rules)
    for each in found:
        if not isinstance(each, Expectation):
            raise InvalidArgument(f"expect takes rules as expect({each!r}), not {each!r}")
    twice = [name for name, count in Counter(each.name for each in found).items() if count > 1]
    if twice:
        raise InvalidArgument(f"two expectations are named {twice[0]!r}: give one another name")
    return found


def sends_dead_letters(rules: Sequence[Expectation]) -> bool:
    """Whether records that fail one of them become dead letters."""
    return any(each.on_failure == "dead_letter" for each in rules)
