"""Mirrors consumer offsets: what groups have committed in the source is committed in the target.

group_settings    GroupSettings: which groups, how often
group_positions   what to commit where: decisions
group_sync        GroupSync: reads both clusters, decides, commits
stored_syncs      offset syncs in the target, for the next driver and for Mirror Maker's tools
topic_records     reads the internal topics
stop_request      StopRequest: tells a driver elsewhere to end
driver_note       DriverNote: what goes wrong for a driver, for `mirror status`
heartbeats        Heartbeats: in one cluster, and what happens where they are refused
checkpoints       Checkpoints: those not written yet, and what happens where they are refused
reported_problems ReportedProblems: what tasks have told, and for how long it is shown
internal_writer   InternalWriter: writes the internal topics
mirror_upkeep     MirrorUpkeep: does all that in the driver, next to the flow
"""
