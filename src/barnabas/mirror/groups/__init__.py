"""Groups go along: what they have committed in the source, committed in the target.

group_settings    GroupSettings: which groups, how often
group_positions   what to commit where: decisions
group_sync        GroupSync: reads both clusters, decides, commits
stored_syncs      offset syncs in the target, for the next driver and for Mirror Maker's tools
topic_records     reads the internal topics
stop_request      StopRequest: tells a driver elsewhere to end
mirror_upkeep     MirrorUpkeep: does all that in the driver, beside the flow
"""
