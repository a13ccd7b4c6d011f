"""The coordinators of groups and transactions, in the partitions of their topics led here.

coordinator                                         which shards this node leads
shard_loader                                        replays the logs of new shards
leader_partition                                    a partition, as coordinators use it
coordinator_shard                                   one shard: decide, append, wait, replay
group_coordinator, group_coordinator_shard          consumer groups and committed offsets
transaction_coordinator, transaction_coordinator_shard   transactions
share_coordinator, share_coordinator_shard          states of share groups
member_connections                                  members of groups whose connections break
share_group_settings                                settings of one share group
transaction_verification                            may a partition be written for a transaction?
transaction_markers                                 sends markers to the leaders of partitions
marker_appends, marker_connections                  appends markers here, for any coordinator
stored_records                                      reads a log of the broker's own
"""
