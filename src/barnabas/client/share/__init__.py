"""Share groups (KIP-932): the client of a queue. Imports go down this list only.

queue_options      a core from what the application says
queue_core         what is held and handed out, apart from all waiting
lock_upkeep        locks are renewed in time, and forgotten when they have expired
settlement         what the application wants done with records, and the answers to it
leader_session     one leader: ShareFetch, and ShareAcknowledge behind a fetch that waits
share_assignment   which leader has which of the assigned partitions
share_requests     ShareFetch and ShareAcknowledge, from what a member has to say
share_member       membership: ShareGroupHeartbeat
delivery_limit     after how many deliveries brokers drop a record
group_settings     where a new group starts to read, and what it sees of transactions
dead_letters       records for the dead-letter topic, and why they are there
held_records       the locks that this member has: room, renewals, delayed releases
acknowledgements   what is still to be acknowledged
queue_message      one record as the application has it
share_session      epochs of a share session, and the partitions in it
retry_policy       what becomes of a record whose handler has failed
acquired_records   the records of an answer that this member has locked
acknowledge_type   accept, release, reject, renew, and ranges of them

Works with brokers from Kafka 4.1 on; renewals and exact limits on records need 4.2.
"""
