"""Which nodes of a cluster on one machine vote, and the file that remembers it."""

from collections.abc import Collection, Iterable
from pathlib import Path

from barnabas.broker.settings.config import ConfigError
from barnabas.cli.base.output import say
from barnabas.cli.base.voters import MOST_VOTERS, useful_voters
from barnabas.log.directory.data_directory import META_FILE
from barnabas.quantities import agreeing, counted_of

VOTERS_FILE = "voters"
"""In the data directory of a cluster with nodes that don't vote: the ids of those that do."""


def voting(directory: Path, count: int) -> list[int]:
    """Those of nodes 1 to `count` that vote.

    Without the file, all nodes vote that have data: they were started before there was one. New
    nodes vote as long as that makes the number odd. A node that the settings name as a voter
    becomes one if its directory is new, as it has to after the loss of its disk.
    """
    remembered = remembered_voters(directory)
    numbers = range(1, count + 1)
    if remembered is not None:
        return [number for number in numbers if number in remembered]
    useful = useful_voters(count)
    return [
        number
        for number in numbers
        if number <= useful or (directory / f"node-{number}" / META_FILE).exists()
    ]


def choose_voters(directory: Path, count: int) -> None:
    """Remember who votes, and say it, if that are not all. Raises `ConfigError`."""
    voters = voting(directory, count)
    said = who_votes(voters, count)
    if said is None:
        return
    if remembered_voters(directory) is None:
        remember_voters(directory, voters)
    say(said)


def who_votes(voters: Collection[int], count: int) -> str | None:
    """A line about nodes without a vote; None if all have one."""
    if len(voters) == count:
        return None
    names = ", ".join(map(str, sorted(voters)))
    if len(voters) >= MOST_VOTERS:
        why = f"{MOST_VOTERS} tolerate the loss of two"
    elif len(voters) == 1:
        why = "with two voters the loss of either would stop the cluster"
    else:
        why = f"{len(voters) + 1} would tolerate no more failures"
    verb = agreeing(len(voters), "votes", "vote")
    number = "number" if len(voters) == 1 else "numbers"
    return (
        f"{counted_of(len(voters), count, 'node')} {verb} ({number} {names}): {why}. "
        "`barnabas cluster add-node` gives another one a vote"
    )


def remembered_voters(directory: Path) -> set[int] | None:
    """Those in the file; None if there is none."""
    path = directory / VOTERS_FILE
    if not path.exists():
        return None
    return {int(each) for each in path.read_text(encoding="utf-8").split()}


def remember_voters(directory: Path, voters: Iterable[int]) -> None:
    """Raises `ConfigError`."""
    path = directory / VOTERS_FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(map(str, voters)) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can't write {path}: {error.strerror}") from error
