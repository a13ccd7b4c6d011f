"""What goes wrong in a run.

faults           draws one fault after the other, and puts everything right at the end
process_faults   brokers are killed, stopped, paused
machine_faults   power, empty disks, clocks
disk_faults      lost directories, damaged segments, bit rot, full disks
disk_errors      disks that return I/O errors, and failed syncs
network_faults   cut and slow links, broken and late connections
long_cuts        a cut that lasts longer than sessions, with clients on both sides
rare_faults      faults that few runs have
state_damage     flipped bits in the vote of a node, and in what it knows of its disk
releases         nodes of an older release are upgraded, and go back
forger           requests that only nodes may send
damage           how a disk is damaged in a way that can be noticed
context          the cluster, and the choice of a victim
"""
