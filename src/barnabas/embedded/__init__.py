"""A cluster for tests: real nodes, with faults injected from Python.

cluster           `barnabas.Cluster`
pytest_plugin     the fixtures; marker reads `@pytest.mark.barnabas(...)`
node_processes    the nodes of a cluster, with their ports, data and network
node              one node: its process, data and log
launcher          starts processes, by way of launcher_process, which forks them
network           the links between nodes and clients; forwarder carries or cuts them
view              leaders, replicas and voters, as the nodes see them
topics            creates topics
node_request      one request to one node
storage, ports    where data is kept, and which ports are used
settings, errors, wait

Nothing is imported here, so that the plugin costs nothing where it is installed and not used.
"""
