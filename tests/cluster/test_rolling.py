"""A rolling restart, which clients with default settings don't notice."""

from tests.cluster.conftest import hurt
from tests.cluster.faults import roll
from tests.cluster.workload import DEFAULTS
from tests.support.cluster import ClusterProcesses


def test_default_clients_see_no_error(cluster: ClusterProcesses) -> None:
    with hurt(cluster, clients=DEFAULTS) as workload:
        roll(cluster)
        workload.wait_for_progress()
        assert workload.history.failed == []
        assert workload.history.client_errors == []
    assert workload.longest_silence_s() < 60
