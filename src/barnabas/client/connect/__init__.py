"""The way to the brokers.

address            addresses as people write them
security_settings  encryption and sign-in, by Kafka's names of settings
tls_connect        the TLS context of a client
sasl_login         as whom a client signs in
sign_in            signing in on a connection, and again before the session ends
broker_connection  one TCP connection: versions, correlation ids, timeouts
traffic            what is counted of requests: numbers, bytes, latencies
connection_pool    one connection per broker and channel, opened on first use
any_broker         requests that every broker can answer: the first one that does
cluster_metadata   brokers, topics, partitions and their leaders
cluster_client     requests to the right broker: leaders, coordinators, retries
broker_errors      error codes as exceptions, and which of them are retriable
environment        clock, chance and pauses of a client
retry_log          retries in the log
background_tasks   tasks whose failure must not go unnoticed
option_checks      numbers among the options of a client
option_hints       options under the names of other libraries
"""
