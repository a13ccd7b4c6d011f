"""What a node tells its operator over HTTP: metrics and health.

registry.py           all metrics, for the documentation
traffic_metrics.py partition_metrics.py replica_metrics.py request_metrics.py
quota_metrics.py transaction_metrics.py client_metrics.py
group_metrics.py cluster_metrics.py storage_metrics.py process_metrics.py
                      where they come from, each next to the code that reads it
committed_lag.py      the log ends that a group's lag needs
scrape.py             all of them, in slices
health.py             /livez, /readyz, /startupz
metrics_listener.py   its address, and what it serves

The text format is in `barnabas.metrics`, and the HTTP server in `barnabas.web`.
"""
