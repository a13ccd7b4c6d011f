"""Users sign in as users of the cluster, whose access rules decide."""

import asyncio
import json
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

import barnabas
from barnabas.client.admin.acls import AclBinding
from barnabas.console.user_cluster import UserCluster
from barnabas.flow.reports import TOPIC as REPORTS
from barnabas.flow.requests import TOPIC as REQUESTS
from tests.console.console_process import ConsoleProcess
from tests.console.reports import report_of, write_reports
from tests.support.wait import wait_until

PASSWORD = "correct horse"
CONNECT = "http://ada:7f3a9c@127.0.0.1:1"


def sign_in(console: ConsoleProcess, user: str, password: str) -> int:
    body = {"user": user, "password": password}
    status, headers, answer = console.ask("/api/session", method="POST", body=body)
    if status == 200:
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        console.cookie = cookie.partition(";")[0]
        assert json.loads(answer)["user"] == user
    return status


def test_users_can_not_forge_the_audit_topic(tmp_path: Path) -> None:
    """The console writes it with its own credentials, and lets nobody write it."""
    with barnabas.Cluster(secure=True) as cluster:
        servers = cluster.bootstrap_servers
        cluster.add_user("ada", PASSWORD)
        with barnabas.Admin(servers, security=cluster.security) as admin:
            for topic in ("audit", "orders"):
                admin.create_topic(topic, partitions=1)
            admin.create_acls([AclBinding("User:ada", "ALL", "TOPIC", "orders")])
        config = tmp_path / "client.properties"
        config.write_text("".join(f"{name}={text}\n" for name, text in cluster.security.items()))
        options = ("--sign-in", "--command-config", str(config), "--audit-topic", "audit")
        message = {"value": "forged"}
        with ConsoleProcess(servers, tmp_path / "log", *options) as console:
            assert sign_in(console, "ada", PASSWORD) == 200
            console.change("POST", "/api/topics/orders/messages", message)
            status, _, body = console.try_change("POST", "/api/topics/audit/messages", message)
            assert (status, b"audit topic" in body) == (403, True)
            again = "/api/topics/orders/messages/0/0/send-again"
            status, _, body = console.try_change("POST", again, {"to": "audit"})
            assert (status, b"audit topic" in body) == (403, True)
        with barnabas.Consumer(
            servers, "audit", security=cluster.security, value_format="json", start="earliest"
        ) as consumer:
            entries = list(islice(consumer, 2))
        assert [(each.key, each.value["outcome"]) for each in entries] == [
            (b"ada", "asked"),
            (b"ada", "done"),
        ]


def test_each_user_sees_and_changes_what_the_rules_allow(tmp_path: Path) -> None:
    with barnabas.Cluster(secure=True) as cluster:
        servers = cluster.bootstrap_servers
        cluster.add_user("ada", PASSWORD)
        with barnabas.Admin(servers, security=cluster.security) as admin:
            admin.create_topic("orders", partitions=1)
            admin.create_topic("salaries", partitions=1)
            admin.create_acls([AclBinding("User:ada", "READ", "TOPIC", "orders")])
        # The administrator's own credentials are in the file, and no user may get them.
        config = tmp_path / "client.properties"
        config.write_text("".join(f"{name}={text}\n" for name, text in cluster.security.items()))
        options = ("--sign-in", "--command-config", str(config), "--connect", CONNECT)
        with ConsoleProcess(servers, tmp_path / "log", *options) as console:
            about = console.get("/api/session")
            assert (about["signed_in"], about["token"], about["bootstrap"]) == (False, None, None)
            for path in ("/api/overview", "/api/topics", "/api/topics/orders", "/api/acls"):
                assert console.ask(path)[0] == 401
            assert sign_in(console, "ada", "wrong") == 401
            assert sign_in(console, "ada", "x" * 5_000) == 413
            assert sign_in(console, "ada", PASSWORD) == 200
            assert console.get("/api/topics/orders/messages")["messages"] == []
            assert console.ask("/api/topics/salaries/messages")[0] == 403
            listed = [each["name"] for each in console.get("/api/topics")["topics"]]
            assert listed == ["orders"]
            status, _, body = console.try_change("POST", "/api/topics", {"name": "mine"})
            assert (status, b"access rules" in body) == (403, True)
            # The Connect service does not know the user, so the console asks the cluster's rules.
            assert console.ask("/api/connectors")[0] == 403
            assert console.try_change("POST", "/api/connectors/jdbc/pause")[0] == 403
            with barnabas.Admin(servers, security=cluster.security) as admin:
                admin.create_acls([AclBinding("User:ada", "DESCRIBE", "CLUSTER", "kafka-cluster")])
            wait_until(lambda: console.ask("/api/connectors")[0] == 502)  # allowed, and it is away
            for path in ("/api/connectors", "/api/flow"):
                _, _, body = console.ask(path)
                assert b"no answer from http://(hidden)@127.0.0.1:1" in body
                assert b"7f3a9c" not in body
            assert console.try_change("POST", "/api/connectors/jdbc/pause")[0] == 403
            # Who may see a pipeline may not stop it: the rules of the topic of requests decide.
            (key,) = write_reports(
                servers, report_of("sums", control="on"), security=cluster.security
            )
            with barnabas.Admin(servers, security=cluster.security) as admin:
                admin.create_topic(REQUESTS, partitions=1)
                admin.create_acls([AclBinding("User:ada", "READ", "TOPIC", REPORTS)])
            wait_until(lambda: console.ask(f"/api/pipeline?id={key}")[0] == 200)
            stop = {"id": key, "action": "stop"}
            status, _, body = console.try_change("POST", "/api/pipeline/requests", stop)
            assert (status, b"access rules" in body) == (403, True), body
            with barnabas.Admin(servers, security=cluster.security) as admin:
                admin.create_acls([AclBinding("User:ada", "WRITE", "TOPIC", REQUESTS)])

            def is_allowed() -> bool:
                write_reports(servers, report_of("sums", control="on"), security=cluster.security)
                return console.try_change("POST", "/api/pipeline/requests", stop)[0] == 200

            wait_until(is_allowed)
            console.change("DELETE", "/api/session")
            assert console.ask("/api/topics/orders")[0] == 401
            assert [sign_in(console, "bob", "guessed") for _ in range(3)] == [401, 401, 401]
            # Each failure doubles the pause, until it is longer than a busy machine's answer.
            wait_until(lambda: sign_in(console, "bob", "guessed") == 429)
            assert sign_in(console, "ada", PASSWORD) == 200  # not held up by failures of others


def test_credentials_are_tried_again() -> None:
    """With a connection of their own: Apache Kafka leaves those open that were signed in before."""
    with barnabas.Cluster(secure=True) as cluster:
        security = cluster.add_user("ada", PASSWORD)

        async def check() -> list[bool]:
            user = UserCluster(cluster.bootstrap_servers, security)
            try:
                await user.ready()
                found = [await user.is_signed_in()]
                await asyncio.to_thread(cluster.add_user, "ada", "another one")
                return [*found, await user.is_signed_in()]
            finally:
                await user.close()

        assert asyncio.run(check()) == [True, False]
