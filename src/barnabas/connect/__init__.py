"""The service that runs connectors and pipelines for as long as they are wanted.

    REST API  ->  state topics  ->  runner of the leader  ->  Spark drivers, one process each

All that the service knows is in compacted topics, and positions are in checkpoints, so that any
instance can take over. One instance leads: it writes the topics and runs the drivers; the others
stand by with a Spark that is warm.

service     one instance, from start to end
settings    what it was started with
runner      brings the drivers in line with what is wanted
config_check checks settings, where needed in a child process
code_settings settings that run code, which need --allow-code
open_cluster warns of a cluster without access rules
rights      what the service and its connectors have to be allowed
lease_clock the clock that leases are measured with
mirror_positions how far a mirror has copied, from its target
positions   how far a connector has read, from its checkpoint
state/      what is wanted and what is, in topics; leadership
driver/     Spark drivers: the processes, and what runs in them
rest/       Kafka Connect's REST API
rest_client calls it, for the command line
"""
