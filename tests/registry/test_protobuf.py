"""Protobuf in a registry."""

from tests.registry.registry_process import RegistryProcess

ORDER = 'syntax = "proto3";\nmessage Order {\n  string id = 1;\n}\n'
CHANGED = 'syntax = "proto3";\nmessage Order {\n  int32 id = 1;\n}\n'


def test_versions_of_a_message(registry: RegistryProcess) -> None:
    assert registry.register("s", ORDER, schemaType="PROTOBUF") == 1
    assert registry.register("s", ORDER.replace("  ", ""), schemaType="PROTOBUF") == 1
    refused = registry.call(
        "POST", "/subjects/s/versions", {"schema": CHANGED, "schemaType": "PROTOBUF"}
    )
    assert isinstance(refused.body, dict)
    assert refused.body["error_code"] == 40901
    found = registry.get("/schemas/ids/1")
    assert isinstance(found, dict)
    assert found["schemaType"] == "PROTOBUF"
