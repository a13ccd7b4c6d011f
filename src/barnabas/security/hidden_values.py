"""Settings that were shown without their secrets, edited, and get their secrets back."""

from itertools import pairwise

from barnabas.security.secret_settings import HIDDEN, HiddenPart, hidden_parts, shown_setting

_IN_NAME = "_-."
_IN_HOST = "_-.:["


def with_secrets(name: str, known: str | None, given: str) -> str:
    """The value that was meant: each secret is put back where its name or host still stands.

    Raises `ValueError` if it is not clear which secret is meant, or if that would go to
    another host.
    """
    if HIDDEN not in given:
        return given
    if known is None:
        raise ValueError(f"{name}: give its value instead of {HIDDEN}")
    if given == shown_setting(name, known):
        return known
    pieces = given.split(HIDDEN)
    parts = [] if shown_setting(name, known) == HIDDEN else list(hidden_parts(known))
    value = pieces[0]
    for number, (before, after) in enumerate(pairwise(pieces)):
        fitting = [each for each in parts if _fits(each, before, after)]
        if len(parts) == len(pieces) - 1 and parts[number] in fitting:
            fitting = [parts[number]]
        if len({each.secret for each in fitting}) != 1:
            raise ValueError(
                f"{name}: it is not clear what {HIDDEN} stands for after the change; write the "
                "value itself there"
            )
        value += fitting[0].secret + after
    return value


def _fits(part: HiddenPart, before: str, after: str) -> bool:
    """Whether a secret stands at the same name, or before the same host."""
    if not before.endswith(part.before) or not after.startswith(part.after):
        return False
    rest_before, rest_after = before[: -len(part.before)], after[len(part.after) :]
    if rest_before and _continues(rest_before[-1], _IN_NAME):
        return False
    is_url = part.after.startswith("@")
    return not (is_url and rest_after and _continues(rest_after[0], _IN_HOST))


def _continues(character: str, others: str) -> bool:
    return character.isalnum() or character in others
