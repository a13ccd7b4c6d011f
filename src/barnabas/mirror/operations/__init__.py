"""What people do with a mirror, from outside: nothing here needs the driver's process.

mirror_clients  both clusters of a flow, of which the source may be gone
status          MirrorStatus: lag, throughput, groups; a plain object
metrics         the same for Prometheus, and counters of a process
metrics_server  serves them
comparison      compares records of both sides: a decision
verify          reads both sides while data flows, and compares
group_return    stored translations of a flow as routes for groups
progress_wait   waits for as long as flows get on: a decision
remaining_records  what a flow has yet to copy
failover        stops a flow, makes groups ready, says what was not copied
failback        lets what is missing go back, and groups with it
"""
