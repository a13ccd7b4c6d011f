"""The client side of the protocol, in rooms. Imports go down this list only.

share      share groups: locks, acknowledgements, dead letters; the client of a queue
delays     records for later: levels in a companion topic, and moving them when they are due
results    of jobs: stored by workers, read by those who submitted them
users      users who sign in at a service here: connecting on their behalf, failed attempts
rights     what a program may need to be allowed: the commands that grant it, and checks
admin      topics, groups, configurations, transactions, replicas of a cluster
metrics    metrics of producers and consumers, by the names of Kafka's clients
producer   records in, batches out; transactions
consumer   fetching, delivery, commits, rebalancing
group      membership in a consumer group, and its committed offsets
offsets    ListOffsets: where logs begin and end, and what came at a time
connect    brokers: addresses, connections, metadata, coordinators, errors, retries
consequences   what an error means for a service that runs: wait, give a record up, stop
engine     the thread in which the cores of all public clients of a process run
durations  "30s", "1h 30m"
"""
