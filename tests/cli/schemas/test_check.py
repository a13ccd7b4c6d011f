"""`barnabas schemas check` and `diff`: files, folders and git revisions."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from barnabas.cli.app import app
from tests.support.machine import find_tool, missing

PLACE = {"type": "record", "name": "Place", "namespace": "shop", "fields": []}
CITY = {"name": "city", "type": "string"}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "to", "type": "Place"}],
}


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["schemas", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def write(folder: Path, **files: Any) -> Path:
    """`order_avsc` is order.avsc."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_two_files(tmp_path: Path) -> None:
    folder = write(tmp_path, a_avsc=PLACE, b_avsc={**PLACE, "fields": [CITY]})
    code, out, err = run("check", folder / "a.avsc", folder / "b.avsc")
    assert code == 1
    assert out.startswith("b.avsc: not BACKWARD compatible\n  Place.city has no default")
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/0" in out
    assert err == "1 of 1 schema failed the check\n"
    assert run("check", folder / "b.avsc", folder / "a.avsc") == (0, "a.avsc: compatible\n", "")
    code, out, _ = run("check", folder / "b.avsc", folder / "a.avsc", "--compatibility", "FORWARD")
    assert code == 1
    assert "for readers with the earlier schema, Place.city has no default" in out


def test_two_folders_whose_files_use_each_other(tmp_path: Path) -> None:
    old = write(tmp_path / "old", place_avsc=PLACE, order_avsc=ORDER, gone_proto="")
    new = write(
        tmp_path / "new",
        place_avsc={**PLACE, "fields": [CITY]},
        order_avsc=ORDER,
        a_proto='syntax = "proto3"; import "b.proto"; message A { B b = 1; }',
        b_proto='syntax = "proto3"; message B {}',
        c_json={"$ref": "d.json"},
        d_json={"type": "strin"},
    )
    code, out, _ = run("check", old, new, "--json")
    found = {each["path"]: each for each in json.loads(out)["schemas"]}
    assert code == 1
    assert {path: each["result"] for path, each in found.items()} == {
        "a.proto": "added",
        "b.proto": "added",
        "c.json": "added",
        "d.json": "invalid",
        "gone.proto": "removed",
        "order.avsc": "incompatible",
        "place.avsc": "incompatible",
    }
    assert found["order.avsc"]["findings"][0]["field"] == "Order.to.city"
    assert found["d.json"]["error"].startswith('#/type: unknown type "strin"')


def test_one_folder_or_file_is_only_checked_to_be_valid(tmp_path: Path) -> None:
    folder = write(tmp_path, place_avsc=PLACE, order_avsc=ORDER)
    assert run("check", folder) == (0, "order.avsc: valid\nplace.avsc: valid\n", "")
    assert run("check", folder / "order.avsc") == (0, "order.avsc: valid\n", "")
    write(folder, order_avsc="{")
    code, out, _ = run("check", folder)
    assert code == 1
    assert "order.avsc: invalid\n  an Avro schema is JSON, and this is not" in out


def test_a_folder_against_a_git_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = find_tool("git")
    if program is None:
        pytest.skip(missing("git"))
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{program.parent}")
    git(tmp_path, "init", "-b", "main")
    folder = write(tmp_path / "schemas", place_avsc=PLACE, order_avsc=ORDER)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "schemas")
    compatible = "order.avsc: compatible\nplace.avsc: compatible\n"
    assert run("check", folder, "--against", "main") == (0, compatible, "")
    write(folder, place_avsc={**PLACE, "fields": [CITY]})
    code, out, _ = run("check", folder, "--against", "main")
    assert code == 1
    assert "Order.to.city has no default" in out
    code, _, err = run("check", folder, "--against", "nope")
    assert (code, err) == (1, f"error: git knows no revision 'nope' in {folder}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "{}/a.avsc", "{}"), "give two files or two folders"),
        (("check", "{}/a.avsc", "--against", "main"), "--against goes with one folder"),
        (("check", "{}", "--compatibility", "ALL"), "--compatibility ALL: use one of NONE"),
        (("check", "{}", "--type", "xml"), "--type xml: use avro, json, protobuf"),
        (("check", "{}/none"), "does not exist"),
        (("check", "{}/a.txt"), "give --type, or a name with .avsc, .json or .proto"),
        (("check", "{}", "--type", "json"), "has no schema: files end with"),
        (("diff", "{}", "{}"), "is a folder: schemas diff takes two files"),
    ],
)
def test_what_can_not_be_checked(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    write(tmp_path, a_avsc=PLACE, a_txt=PLACE)
    code, _, err = run(*(each.format(tmp_path) for each in arguments))
    assert code in {1, 2}
    assert message in err


def test_a_file_with_another_name_needs_its_type(tmp_path: Path) -> None:
    folder = write(tmp_path, a_txt=PLACE)
    assert run("check", folder / "a.txt", "--type", "avro") == (0, "a.txt: valid\n", "")


def test_a_difference_is_shown_with_what_it_breaks(tmp_path: Path) -> None:
    text = 'syntax = "proto3"; message B { int32 n = 1; }'
    folder = write(tmp_path, a_proto=text, b_proto=text.replace("int32", "string"))
    code, out, _ = run("diff", folder / "a.proto", folder / "b.proto")
    assert code == 0
    assert "-  int32 n = 1;\n+  string n = 1;\n" in out
    assert "The new schema reads what was written with the old one: no\n  B.n (number 1)" in out
    code, out, _ = run("diff", folder / "a.proto", folder / "a.proto")
    assert (code, out) == (0, "The schemas are the same.\n")
    code, out, _ = run("diff", folder / "a.proto", folder / "b.proto", "--json")
    assert json.loads(out)["forward"][0]["kind"] == "FIELD_SCALAR_KIND_CHANGED"
