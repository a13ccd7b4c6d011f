"""The schema table is read strictly: what it can't mean is an error, not a guess."""

from pathlib import Path

import pytest

from tools.codegen.emit import Emitter
from tools.codegen.schema import NO_VERSION, Versions, parse, parse_versions

MESSAGE = "AskRequest request key=9 versions=0-2 flexible=2+\n"


def parsed(tmp_path: Path, text: str) -> list:
    path = tmp_path / "ask.schema"
    path.write_text(text)
    return parse(path)


def test_versions_are_ranges() -> None:
    assert parse_versions("3+").low == 3
    assert 30_000 in parse_versions("3+")
    assert parse_versions("0-7") == Versions(0, 7)
    assert parse_versions("2") == Versions(2, 2)
    assert parse_versions("none") == NO_VERSION
    with pytest.raises(ValueError, match="invalid literal"):
        parse_versions("new")


def test_fields_nest_by_indentation(tmp_path: Path) -> None:
    body = (
        "  Topics []Topic 0+  # all of them\n    Name string 0+\n    Id uuid 2+\n  Depth int8 1+\n"
    )
    (block,) = parsed(tmp_path, MESSAGE + body)
    assert [f.name for f in block.fields] == ["Topics", "Depth"]
    assert [f.attribute for f in block.fields[0].fields] == ["name", "id"]
    assert (block.key, block.versions, block.flexible.low) == (9, Versions(0, 2), 2)


@pytest.mark.parametrize(
    "body",
    [
        "  Name string\n",
        "  Name string 0+ nulable=0+\n",
        "  Name string 0+ tag=first\n",
        "  Name string x+\n",
    ],
)
def test_a_malformed_field_is_an_error(tmp_path: Path, body: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parsed(tmp_path, MESSAGE + body)


def test_a_message_without_versions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="versions"):
        parsed(tmp_path, "AskRequest request key=9 flexible=2+\n")


def test_two_structures_of_one_name_must_be_the_same(tmp_path: Path) -> None:
    body = "  A []Item 0+\n    Name string 0+\n  B []Item 0+\n    Size int32 0+\n"
    (block,) = parsed(tmp_path, MESSAGE + body)
    with pytest.raises(ValueError, match="two structures named Item differ"):
        Emitter().message(block)
