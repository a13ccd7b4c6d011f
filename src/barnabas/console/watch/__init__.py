"""What happens in the cluster while somebody looks at it.

watch       takes samples and runs the doctor's checks, less often the longer they take
history     points of the plots: throughput, and lag of groups and partitions
events      what differs between two samples, in sentences
topic_rows  the list of topics: rates, sizes, the slowest group
group_rows  the list of groups
pipelines   what running pipelines report
health      the doctor's findings in one sentence
"""
