"""Files of a folder as they are in a git revision."""

import subprocess
from pathlib import Path

from barnabas.cli.base.command import CommandError


def files_in_revision(folder: Path, revision: str, suffixes: tuple[str, ...]) -> dict[str, str]:
    """Texts by their paths in the folder, with / between names; empty if the folder is new."""
    if revision.startswith("-"):
        raise CommandError(f"{revision!r} is no git revision")
    commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    if not commit:
        raise CommandError(f"git knows no revision {revision!r} in {folder}")
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, ".")
    found = {}
    for path in listed.split("\0"):
        if path.endswith(suffixes):
            found[path] = _git(folder, "show", f"{commit}:./{path}")
    return found


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - arguments are no shell text
            ["git", *arguments],  # noqa: S607 - the git that the user has
            cwd=folder,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise CommandError(f"git can't be started: {error}") from None
    if done.returncode != 0 and arguments[0] != "rev-parse":
        problem = done.stderr.decode(errors="replace").strip()
        raise CommandError(f"git {arguments[0]} failed in {folder}: {problem}")
    return done.stdout.decode(errors="replace")
