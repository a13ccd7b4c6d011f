"""A queue of a cluster with TLS, sign-in and access rules."""

from pathlib import Path

import pytest

import barnabas
from barnabas import AclBinding, Cluster, Queue
from barnabas.errors import NotAuthorized
from tests.support.sasl import ADMIN, SaslBroker

WAIT_S = 120
RIGHTS = [
    ("READ", "TOPIC", "jobs"),
    ("WRITE", "TOPIC", "jobs"),
    ("WRITE", "TOPIC", "jobs-dead"),
    ("READ", "GROUP", "workers"),
    ("DESCRIBE_CONFIGS", "GROUP", "workers"),
    ("ALTER_CONFIGS", "GROUP", "workers"),
]


def test_a_user_with_these_rights_can_work() -> None:
    settings = {"share.coordinator.state.topic.num.partitions": 1}
    with Cluster(secure=True, settings=settings) as cluster:
        servers = cluster.bootstrap_servers
        alice, bob = cluster.add_user("alice"), cluster.add_user("bob")
        with barnabas.Admin(servers, security=cluster.security) as admin:
            admin.create_topic("jobs")
            admin.create_topic("jobs-dead")
            admin.create_acls([AclBinding("User:alice", *right) for right in RIGHTS])
            admin.create_acls([AclBinding("User:bob", "READ", "TOPIC", "jobs")])
        with (
            Queue(servers, "jobs", group="workers", security=bob) as queue,
            pytest.raises(NotAuthorized, match="group workers"),
        ):
            queue.get(WAIT_S)
        with Queue(
            servers,
            "jobs",
            group="workers",
            value_format="int",
            dead_letters="jobs-dead",
            security=alice,
        ) as queue:
            for number in range(4):
                queue.put(number).result(WAIT_S)
            for expected in range(4):
                job = queue.get(WAIT_S)
                assert job is not None
                assert (job.value, job.delivery_count) == (expected, 1)
                (job.reject("odd") if expected % 2 else job.accept()).result(WAIT_S)
        with barnabas.Consumer(servers, "jobs-dead", security=cluster.security) as letters:
            assert [letter.offset for letter in letters.poll(WAIT_S)] == [0, 1]


def test_locks_outlast_the_time_for_which_a_sign_in_holds(tmp_path: Path) -> None:
    settings = {"share.coordinator.state.topic.num.partitions": "1"}
    with SaslBroker(tmp_path, settings) as broker:
        user, password = ADMIN
        security = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": password,
        }
        servers = f"127.0.0.1:{broker.short_port}"  # every second, all have to sign in again
        with barnabas.Admin(servers, security=security) as admin:
            admin.create_topic("jobs")
        with Queue(servers, "jobs", group="workers", security=security) as queue:
            queue.put(b"long").result(WAIT_S)
            job = queue.get(WAIT_S)
            assert job is not None
            assert queue.get(2.5) is None
            job.accept().result(WAIT_S)
            queue.put(b"next").result(WAIT_S)
            job = queue.get(WAIT_S)
            assert job is not None
            assert (job.value, job.delivery_count) == (b"next", 1)
            job.accept().result(WAIT_S)
