"""Users of the cluster sign in at the registry, and its access rules say what they may do."""

import itertools
from base64 import b64encode
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

import barnabas
from barnabas import AclBinding
from barnabas.errors import BarnabasError
from barnabas.formats.registered.client import RegistryClient
from barnabas.registry.model.contents import Json
from tests.registry.registry_process import MakeRegistry, RegistryProcess, Reply, record, registries
from tests.support.sasl import SaslBroker
from tests.support.wait import wait_until

PASSWORD = "correct horse"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:registry;User:ANONYMOUS",
}
USERS = ("registry", "ada", "bob", "carl", "dora", "eve", "fay", "gus")
SCHEMA = {"schema": record("id")}


class SignedIn:
    """A registry, as one user sees it."""

    def __init__(self, registry: RegistryProcess, user: str, password: str = PASSWORD) -> None:
        self._registry = registry
        self._header = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def call(self, method: str, path: str, body: Json = None) -> Reply:
        return self._registry.call(method, path, body, Authorization=self._header)

    def may(self, method: str, path: str, body: Json = None) -> bool:
        reply = self.call(method, path, body)
        assert reply.status in (200, 403), reply
        return reply.status == 200

    def may_register(self, subject: str) -> bool:
        return self.may("POST", f"/subjects/{subject}/versions", SCHEMA)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    with SaslBroker(tmp_path_factory.mktemp("broker"), AUTHORIZER) as running:
        with barnabas.Admin(running.bootstrap) as admin:
            for user in USERS:
                admin.set_password(user, PASSWORD)
        yield running


@pytest.fixture(scope="module")
def make_secured(
    broker: SaslBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeRegistry]:
    folder = tmp_path_factory.mktemp("registry")
    config = folder / "registry.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f"sasl.username=registry\nsasl.password={PASSWORD}\n"
    )
    with registries(folder, broker.sasl_bootstrap) as make:
        yield lambda *options: make("--sign-in", "--command-config", str(config), *options)


@pytest.fixture(scope="module")
def secured(make_secured: MakeRegistry) -> RegistryProcess:
    found = make_secured()
    owner = SignedIn(found, "registry")
    for subject in ("orders-value", "secret-value"):
        assert owner.may_register(subject)
    return found


def rule(
    broker: SaslBroker, user: str, operation: str, name: str, pattern: str = "LITERAL", **more: str
) -> None:
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_acls([AclBinding(f"User:{user}", operation, "TOPIC", name, pattern, **more)])


def test_nobody_gets_in_without_a_password(secured: RegistryProcess) -> None:
    for path in ("/subjects", "/schemas/ids/1", "/config", "/mode", "/contexts", "/schemas/types"):
        reply = secured.call("GET", path)
        assert reply.status == 401
        assert reply.headers["WWW-Authenticate"].startswith("Basic ")
    assert secured.call("POST", "/subjects/x/versions", SCHEMA).status == 401
    assert secured.call("GET", "/subjects", Authorization="Basic !").status == 401
    assert SignedIn(secured, "ada", "guessed").call("GET", "/subjects").status == 401
    assert SignedIn(secured, "nobody").call("GET", "/subjects").status == 401
    with pytest.raises(BarnabasError, match="http://USER:PASSWORD@HOST"):
        RegistryClient(secured.url).call("GET", "subjects")
    assert secured.get("/health") == {"status": "healthy"}, "probes have no password"


def test_a_user_without_rules_sees_nothing(secured: RegistryProcess) -> None:
    bob = SignedIn(secured, "bob")
    assert bob.call("GET", "/subjects").body == []
    assert bob.call("GET", "/schemas").body == []
    assert not bob.may("GET", "/schemas/ids/1")
    assert bob.call("GET", "/schemas/ids/1/subjects").body == []
    assert not bob.may("GET", "/subjects/orders-value/versions/latest")
    assert not bob.may("POST", "/subjects/orders-value", SCHEMA)
    assert not bob.may("PUT", "/config", {"compatibility": "NONE"})
    assert not bob.may("PUT", "/mode", {"mode": "READONLY"})
    assert not bob.may_register("orders-value")
    assert not bob.may("DELETE", "/subjects/orders-value")
    refused = bob.call("DELETE", "/subjects/orders-value").body
    assert refused == {
        "error_code": 40301,
        "message": "User bob is denied operation DELETE on subject orders-value; this allows it: "
        "barnabas acls add bob delete --topic _schemas:orders-value",
    }


def test_rules_about_single_subjects(broker: SaslBroker, secured: RegistryProcess) -> None:
    """By name and by prefix; what two subjects share is read through the one that may be."""
    ada = SignedIn(secured, "ada")
    assert ada.call("GET", "/subjects").body == []
    rule(broker, "ada", "READ", "_schemas:orders-value")
    rule(broker, "ada", "WRITE", "_schemas:ada-", "PREFIXED")
    wait_until(lambda: ada.call("GET", "/subjects").body == ["orders-value"])
    assert ada.may("GET", "/subjects/orders-value/versions/latest")
    assert ada.may("GET", "/config/orders-value?defaultToGlobal=true")
    assert ada.may("GET", "/schemas/ids/1"), "secret-value has the same one"
    assert ada.call("GET", "/schemas/ids/1/subjects").body == ["orders-value"]
    assert not ada.may_register("orders-value")
    assert ada.may_register("ada-value")
    assert not ada.may("GET", "/subjects/ada-value/versions/latest"), "to write is not to read"
    refers = {"name": "x", "subject": "secret-value", "version": 1}
    assert not ada.may("POST", "/subjects/ada-x/versions", {**SCHEMA, "references": [refers]})
    assert not ada.may("PUT", "/config/ada-value", {"compatibility": "NONE"})
    rule(broker, "ada", "ALTER_CONFIGS", "_schemas:ada-", "PREFIXED")
    wait_until(lambda: ada.may("PUT", "/mode/ada-moved", {"mode": "IMPORT"}))
    moved = {"schema": '"long"', "version": 1}
    reply = ada.call("POST", "/subjects/ada-moved/versions", {**moved, "id": 2**31 - 1})
    assert (reply.status, reply.body["error_code"]) == (422, 42205), "it is of all subjects"
    assert ada.may("POST", "/subjects/ada-moved/versions", {**moved, "id": 20})
    alias = {"alias": "secret-value"}
    assert SignedIn(secured, "registry").may("PUT", "/config/orders-alias", alias)
    rule(broker, "ada", "READ", "_schemas:orders-alias")
    assert not ada.may("GET", "/subjects/orders-alias/versions/latest"), "the name of a secret"


def test_rights_on_the_topic_hold_for_all_subjects(
    broker: SaslBroker, secured: RegistryProcess
) -> None:
    """Unless a rule about a subject denies it."""
    carl = SignedIn(secured, "carl")
    rule(broker, "carl", "READ", "_schemas")
    rule(broker, "carl", "READ", "_schemas:secret-value", permission="DENY")

    def seen() -> str:
        return str(carl.call("GET", "/subjects").body)

    wait_until(lambda: "orders-value" in seen() and "secret-value" not in seen())
    assert not carl.may("GET", "/subjects/secret-value/versions/1")
    assert not carl.may_register("orders-value")


def test_a_changed_password_ends_the_access(broker: SaslBroker, secured: RegistryProcess) -> None:
    dora = SignedIn(secured, "dora")
    assert dora.may("GET", "/subjects")
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.set_password("dora", "another")
    wait_until(lambda: dora.call("GET", "/subjects").status == 401)
    assert SignedIn(secured, "dora", "another").may("GET", "/subjects")


def test_who_guesses_passwords_has_to_wait(secured: RegistryProcess) -> None:
    numbers = itertools.count()

    def guess() -> int:
        return SignedIn(secured, "eve", f"guess-{next(numbers)}").call("GET", "/subjects").status

    assert [guess() for _ in range(3)] == [401, 401, 401]
    # Each failure doubles the pause, until it is longer than a busy machine's answer.
    wait_until(lambda: guess() == 429)


def test_changes_are_forwarded_for_the_user_who_asks(
    broker: SaslBroker, make_secured: MakeRegistry, secured: RegistryProcess
) -> None:
    rule(broker, "fay", "WRITE", "_schemas:fay-value")
    other = make_secured()
    fay = SignedIn(other, "fay")
    wait_until(lambda: fay.may_register("fay-value"))
    assert not fay.may_register("orders-value")
    assert secured.writes
    wait_until(lambda: "fay at 127.0.0.1: POST /subjects/fay-value/versions" in other.said())
    assert "/subjects/orders-value/versions" not in other.said()


def test_confluents_client_signs_in(broker: SaslBroker, secured: RegistryProcess) -> None:
    rule(broker, "gus", "WRITE", "_schemas:gus-value")
    gus = SignedIn(secured, "gus")
    wait_until(lambda: gus.may_register("gus-value"))
    client = SchemaRegistryClient({"url": secured.url, "basic.auth.user.info": f"gus:{PASSWORD}"})
    assert client.register_schema("gus-value", Schema(SCHEMA["schema"], "AVRO")) == 1
    with pytest.raises(SchemaRegistryError) as refused:
        client.get_latest_version("secret-value")
    assert refused.value.http_status_code == 403
    with pytest.raises(SchemaRegistryError) as unknown:
        SchemaRegistryClient({"url": secured.url}).get_subjects()
    assert unknown.value.http_status_code == 401


def test_no_caller_keeps_a_change_out_of_the_log(secured: RegistryProcess) -> None:
    """With the header by which instances forward requests to each other, which anybody can send."""
    given = {"Authorization": "Basic " + b64encode(f"registry:{PASSWORD}".encode()).decode()}
    reply = secured.call(
        "POST", "/subjects/unlogged/versions", SCHEMA, **given, **{"Barnabas-Forwarded": "1"}
    )
    assert reply.status == 200, reply
    line = "registry at 127.0.0.1, forwarded: POST /subjects/unlogged/versions"
    wait_until(lambda: line in secured.log.read_text(), secured.said)
