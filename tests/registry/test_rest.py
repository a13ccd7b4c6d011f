"""The REST API as Confluent's clients call it."""

import json
import urllib.request

from barnabas.registry.model.contents import Json
from tests.registry.registry_process import RegistryProcess, record

A, AB, ABC = record("a"), record("a", "b"), record("a", "b", "c")
NEEDED = json.dumps({"type": "record", "name": "R", "fields": [{"name": "z", "type": "string"}]})


def code_of(registry: RegistryProcess, method: str, path: str, body: Json = None) -> int:
    found = registry.call(method, path, body)
    assert isinstance(found.body, dict), found
    code = found.body["error_code"]
    assert isinstance(code, int)
    assert str(code).startswith(str(found.status))
    assert isinstance(found.body["message"], str)
    return code


def test_the_life_of_a_subject(registry: RegistryProcess) -> None:
    assert registry.get("/subjects") == []
    assert registry.register("s", A) == 1
    assert registry.register("s", A) == 1
    assert registry.register("s", AB) == 2
    assert registry.get("/subjects") == ["s"]
    assert registry.get("/subjects/s/versions") == [1, 2]
    stored = json.loads(A)
    found = registry.get("/subjects/s/versions/1")
    assert isinstance(found, dict)
    assert found.keys() == {"subject", "version", "id", "schema"}
    assert json.loads(str(found["schema"])) == stored
    assert registry.get("/subjects/s/versions/latest/schema") == json.loads(AB)
    assert registry.get("/schemas/ids/1") == {"schema": found["schema"]}
    assert registry.get("/schemas/ids/1/schema") == stored
    assert registry.get("/schemas/ids/2/subjects") == ["s"]
    assert registry.get("/schemas/ids/2/versions") == [{"subject": "s", "version": 2}]
    looked_up = registry.call("POST", "/subjects/s", {"schema": A})
    assert looked_up.body == found
    assert looked_up.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert registry.call("DELETE", "/subjects/s/versions/1").body == 1
    assert registry.get("/subjects/s/versions") == [2]
    assert registry.get("/subjects/s/versions?deleted=true") == [1, 2]
    assert registry.get("/subjects/s/versions?deletedOnly=true") == [1]
    assert registry.call("DELETE", "/subjects/s").body == [2]
    assert registry.get("/subjects?deleted=true") == ["s"]
    assert registry.call("DELETE", "/subjects/s?permanent=true").body == [1, 2]
    assert registry.get("/subjects?deleted=true") == []
    assert registry.register("t", A) == 3


def test_errors_have_confluents_codes(registry: RegistryProcess) -> None:
    registry.register("s", A)
    posted: Json = {"schema": A}
    for method, path, body, code in (
        ("GET", "/subjects/x/versions", None, 40401),
        ("GET", "/subjects/s/versions/7", None, 40402),
        ("GET", "/subjects/s/versions/zero", None, 42202),
        ("GET", "/schemas/ids/99", None, 40403),
        ("GET", "/schemas/guids/99", None, 40403),
        ("POST", "/subjects/x", posted, 40401),
        ("POST", "/subjects/s", {"schema": AB}, 40403),
        ("POST", "/subjects/s/versions", {"schema": "{"}, 42201),
        ("POST", "/subjects/s/versions", {"schema": A, "schemaType": "XML"}, 42201),
        ("POST", "/subjects/s/versions", {"schema": NEEDED}, 40901),
        ("POST", "/subjects/s/versions", {"schema": AB, "id": 5}, 42205),
        ("POST", "/subjects/__GLOBAL/versions", posted, 42208),
        ("DELETE", "/subjects/s?permanent=true", None, 40405),
        ("DELETE", "/subjects/s/versions/1?permanent=true", None, 40407),
        ("GET", "/config/s", None, 40408),
        ("GET", "/mode/s", None, 40409),
        ("PUT", "/config", {"compatibility": "SOME"}, 42203),
        ("PUT", "/mode", {"mode": "SOME"}, 42204),
        ("PUT", "/mode", {"mode": "IMPORT"}, 42205),
    ):
        assert code_of(registry, method, path, body) == code, (method, path)
    refused = registry.call("POST", "/subjects/s/versions", {"schema": NEEDED}).body
    assert isinstance(refused, dict)
    assert "'z'" in str(refused["message"]) or "R.z" in str(refused["message"])
    assert "oldSchemaVersion: 1" in str(refused["message"])
    assert registry.call("GET", "/nothing").status == 404
    assert registry.call("PUT", "/subjects").status == 405
    assert registry.call("POST", "/subjects/s/versions", ["no", "object"]).status == 400


def test_unknown_fields_are_accepted_and_given_on_demand_only(registry: RegistryProcess) -> None:
    body: Json = {"schema": A, "surprise": 1}
    known = {"Confluent-Accept-Unknown-Properties": "true"}
    first = registry.call("POST", "/subjects/s/versions", body)
    assert first.body == {"id": 1}
    full = registry.call("POST", "/subjects/s/versions", body, **known).body
    assert isinstance(full, dict)
    assert (full["id"], full["version"]) == (1, 1)
    by_guid = registry.get(f"/schemas/guids/{full['guid']}")
    assert by_guid == {"schema": full["schema"]}
    assert registry.get(f"/schemas/guids/{full['guid']}/ids") == [{"context": ".", "id": 1}]
    found = registry.call("GET", "/subjects/s/versions/1", **known).body
    assert isinstance(found, dict)
    assert found["guid"] == full["guid"]


def test_settings_modes_and_compatibility(registry: RegistryProcess) -> None:
    assert registry.get("/config") == {"compatibilityLevel": "BACKWARD"}
    registry.register("s", A)
    check = "/compatibility/subjects/s/versions"
    wrong: Json = {"schema": NEEDED}
    for path in (check, f"{check}/latest", f"{check}/1"):
        assert registry.call("POST", path, {"schema": AB}).body == {"is_compatible": True}
        assert registry.call("POST", path, wrong).body == {"is_compatible": False}
        told = registry.call("POST", f"{path}?verbose=true", wrong).body
        assert isinstance(told, dict)
        assert "READER_FIELD_MISSING_DEFAULT_VALUE" in str(told["messages"])
    assert code_of(registry, "POST", f"{check}/7", {"schema": AB}) == 40402
    put = registry.call("PUT", "/config/s", {"compatibility": "none", "normalize": True})
    assert put.body == {"compatibility": "NONE", "normalize": True}
    assert registry.call("POST", check, wrong).body == {"is_compatible": True}
    assert registry.get("/config/s") == {"compatibilityLevel": "NONE", "normalize": True}
    assert registry.get("/config/x?defaultToGlobal=true") == {"compatibilityLevel": "BACKWARD"}
    assert registry.call("DELETE", "/config/s").body == {
        "compatibilityLevel": "NONE",
        "normalize": True,
    }
    assert registry.get("/mode") == {"mode": "READWRITE"}
    assert registry.call("PUT", "/mode/s", {"mode": "READONLY"}).body == {"mode": "READONLY"}
    assert code_of(registry, "POST", "/subjects/s/versions", {"schema": AB}) == 42205
    assert registry.call("DELETE", "/mode/s").body == {"mode": "READONLY"}
    assert registry.call("PUT", "/mode?force=true", {"mode": "IMPORT"}).status == 200
    assert registry.register("t", ABC, id=40, version=4) == 40
    assert registry.get("/subjects/t/versions") == [4]


def test_contexts_aliases_references_and_metadata(registry: RegistryProcess) -> None:
    registry.register("s", A)
    registry.register("s", AB)
    assert registry.register(":.c:s", AB) == 1
    assert registry.get("/contexts?contextPrefix=.x") == []
    assert registry.get("/contexts") == [".", ".c"]
    assert registry.get("/contexts/.c/subjects") == [":.c:s"]
    assert registry.get("/contexts/.c/subjects/s/versions") == [1]
    assert registry.get("/contexts/.c/schemas/ids/1/schema") == json.loads(AB)
    assert registry.get("/schemas/ids/1?subject=:.c:s") == registry.get("/schemas/ids/2")
    assert registry.get("/subjects?subjectPrefix=:*:") == [":.c:s", "s"]
    assert registry.get("/subjects?subjectPrefix=:.c:&limit=1") == [":.c:s"]
    listed = registry.get("/schemas?latestOnly=true&subjectPrefix=s")
    assert isinstance(listed, list)
    assert [each["version"] for each in listed if isinstance(each, dict)] == [2]
    registry.call("PUT", "/config/other", {"alias": "s"})
    assert registry.get("/subjects/other/versions") == [1, 2]
    using = json.dumps({"type": "record", "name": "U", "fields": [{"name": "r", "type": "R"}]})
    references: Json = [{"name": "R", "subject": "s", "version": 2}]
    metadata: Json = {"properties": {"owner": "me"}}
    used = registry.register("u", using, references=references, metadata=metadata)
    assert registry.get("/subjects/s/versions/2/referencedby") == [used]
    assert code_of(registry, "DELETE", "/subjects/s/versions/2") == 42206
    found = registry.get("/subjects/u/metadata?key=owner&value=me")
    assert isinstance(found, dict)
    assert (found["references"], found["metadata"]) == (references, metadata)
    assert code_of(registry, "GET", "/subjects/u/metadata?key=owner&value=you") == 40403


def test_about_itself(registry: RegistryProcess) -> None:
    assert registry.get("/") == {}
    assert registry.get("/health") == {"status": "healthy"}
    cluster = registry.get("/v1/metadata/id")
    assert isinstance(cluster, dict)
    assert cluster["id"]
    assert "AVRO" in str(registry.get("/schemas/types"))
    assert not registry.writes
    registry.register("s", A)
    assert registry.writes


def test_requests_are_counted_and_changes_are_logged(registry: RegistryProcess) -> None:
    registry.register("s", A)
    registry.call("GET", "/subjects/x/versions")
    registry.call("DELETE", "/subjects/s")
    with urllib.request.urlopen(f"{registry.url}/metrics") as answer:
        metrics = answer.read().decode()
    for counted in (
        'method="POST",path="/subjects/*/versions",status="200"} 1',
        'method="GET",path="/subjects/*/versions",status="404"} 1',
    ):
        assert f"barnabas_registry_requests_total{{{counted}\n" in metrics
    times = 'barnabas_registry_request_seconds_count{method="DELETE",path="/subjects/*"} 1'
    assert f"{times}\n" in metrics
    said = registry.said()
    assert 'anonymous at 127.0.0.1: POST /subjects/s/versions: {"id":1}' in said
    assert "anonymous at 127.0.0.1: DELETE /subjects/s: [1]" in said
    assert "/subjects/x" not in said
