"""`barnabas schemas`: what a registry has, on the command line, and into another one."""

import json
import subprocess
import sys
from pathlib import Path

from tests.registry.registry_process import MakeRegistry, RegistryProcess, record
from tests.support import fork_server
from tests.support.wait import LIMIT_S

A, AB = record("a"), record("a", "b")


def schemas(
    registry: RegistryProcess, *arguments: str, text: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "barnabas", "schemas", *arguments]
    return fork_server.run(
        [*command, "--registry", registry.url],
        input=text,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )


def printed(registry: RegistryProcess, *arguments: str, text: str = "") -> str:
    found = schemas(registry, *arguments, text=text)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_schemas_are_registered_shown_and_deleted(
    registry: RegistryProcess, tmp_path: Path
) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(A)
    assert printed(registry, "register", "orders-value", str(file)) == "1\n"
    assert printed(registry, "register", "orders-value", "-", text=AB) == "2\n"
    using = json.dumps({"type": "record", "name": "U", "fields": [{"name": "r", "type": "R"}]})
    named = "R=orders-value:2"
    assert printed(registry, "register", "u", "-", "--reference", named, text=using) == "3\n"
    assert printed(registry, "list").splitlines() == [
        "SUBJECT       VERSIONS  LATEST  ID  TYPE",
        "orders-value         2       2   2  AVRO",
        "u                    1       1   3  AVRO",
    ]
    assert json.loads(printed(registry, "show", "orders-value")) == json.loads(AB)
    assert json.loads(printed(registry, "show", "--id", "1")) == json.loads(A)
    shown = json.loads(printed(registry, "show", "u", "--json"))
    assert shown["references"] == [{"name": "R", "subject": "orders-value", "version": 2}]
    refused = schemas(registry, "delete", "orders-value")
    assert (refused.returncode, "references exist" in refused.stderr) == (1, True)
    printed(registry, "delete", "u")
    printed(registry, "delete", "u", "--permanent")
    assert '"u"' not in printed(registry, "list", "--json")
    assert schemas(registry, "show", "u").returncode == 1
    assert schemas(registry, "show").returncode == 2
    assert schemas(registry, "register", "x", "-", "--reference", "x", text=A).returncode == 2


def test_a_registry_is_copied_with_its_ids(make_registry: MakeRegistry, tmp_path: Path) -> None:
    old = make_registry()
    new = make_registry("--topic", "_schemas_new")
    old.register("z", A)
    old.register("z", AB)
    using = json.dumps({"type": "record", "name": "U", "fields": [{"name": "r", "type": "R"}]})
    references = [{"name": "R", "subject": "z", "version": 2}]
    old.register("a", using, references=[*references], metadata={"properties": {"k": "v"}})
    old.register(":.c:s", A)
    old.call("DELETE", "/subjects/z/versions/1")
    old.call("PUT", "/config", {"compatibility": "FULL"})
    old.call("PUT", "/config/z", {"compatibility": "NONE"})
    old.call("PUT", "/config/:.c:", {"compatibility": "FULL_TRANSITIVE"})
    old.call("PUT", "/config/orders-alias", {"alias": "z"})
    old.register("gone", record("gone"))
    for permanent in ("false", "true"):
        old.call("DELETE", f"/subjects/gone?permanent={permanent}")
    new.call("PUT", "/mode/a", {"mode": "READONLY"})
    file = tmp_path / "schemas.jsonl"
    file.write_text(printed(old, "export", "--deleted"))
    for _ in range(2):
        said = schemas(new, "import", str(file))
        assert said.returncode == 0, said.stderr
        assert "imported 4 versions and 4 settings" in said.stderr
    for path in (
        "/subjects?deleted=true",
        "/subjects/z/versions?deleted=true",
        "/subjects/z/versions",
        "/subjects/a/versions/1",
        "/schemas/ids/1",
        "/contexts/.c/schemas/ids/1",
        "/config",
        "/config/z",
        "/config/:.c:",
        "/config/orders-alias",
        "/subjects/orders-alias/versions",
        "/ids",
        "/contexts/.c/ids",
        "/settings",
    ):
        assert new.get(path) == old.get(path), path
    assert new.get("/mode/a") == {"mode": "READONLY"}
    assert new.call("GET", "/mode/z").status == 404
    assert new.register("later", record("later")) == 5, "4 was given, and deleted for good"


def test_a_file_that_makes_no_sense_is_named(registry: RegistryProcess, tmp_path: Path) -> None:
    file = tmp_path / "schemas.jsonl"
    file.write_text('{"subject": "s", "version": 1, "id": 1, "schema": "{"}\n')
    found = schemas(registry, "import", str(file))
    assert found.returncode == 1
    assert f"line 1 of {file}: subject s version 1: " in found.stderr
    assert registry.call("GET", "/mode/s").status == 404
    nobody = fork_server.run(
        [sys.executable, "-m", "barnabas", "schemas", "list", "--registry", "http://localhost:1"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert "is `barnabas registry` running there?" in nobody.stderr
