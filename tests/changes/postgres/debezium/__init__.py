"""The same workload through Debezium and through us, record by record.

scenario        tables, rows that are there before, and transactions
record          runs Debezium on Kafka Connect, by hand, and writes golden.json
normalization   what may differ between two runs: times, positions, numbers of transactions
"""
