"""Properties files, as Java reads them."""

from pathlib import Path


def read_properties(path: Path, option: str) -> dict[str, str]:
    """Read NAME=VALUE or NAME: VALUE, comments with # or !, and lines continued by a backslash.

    Other escapes are left out: no setting needs them. Raises `InvalidArgument`.
    """
    from barnabas.errors import InvalidArgument

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{option} {path}: {error}") from error
    properties = {}
    begun = ""
    for number, line in enumerate(lines, 1):
        text = begun + line.strip()
        begun = ""
        if not text or text[0] in "#!":
            continue
        if text.endswith("\\") and number < len(lines):
            begun = text[:-1]
            continue
        separator = min((each for each in "=:" if each in text), key=text.index, default=None)
        if separator is None:
            # Not the line itself: it may be a part of a secret.
            raise InvalidArgument(f"{path}, line {number}: expected NAME=VALUE")
        name, _, value = text.partition(separator)
        properties[name.strip()] = value.strip()
    return properties
