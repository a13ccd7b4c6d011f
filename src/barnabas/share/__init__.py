"""Decisions on share groups' records: a queue on a log (KIP-932).

share_partition        one partition as one share group reads it: who holds which records
acquisition            one member locks records of it
in_flight_window       the records between the start offset and the next one, as batches
in_flight_batch        neighbouring records that share one state
record_state           states of records, and types of acknowledgements
acknowledgement        checks of the acknowledgements in a request
state_write            what is stored of a share partition, and who waits for it
share_limits           settings that a share partition works with
state/                 the share coordinator: the stored states of share partitions

Left out: who is in the group, which `groups` decides.
"""
