"""A simulated machine.

machine        starts, stops and kills the real broker on simulated parts
clock          the time of day and the steady clock of a machine
rot            flips a bit of a committed batch on a disk
process_disk   the disk as one process uses it
disk           what a machine keeps when a process dies, and when the power fails
inode          files and directories, and their changes since the last sync
"""
