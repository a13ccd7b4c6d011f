"""What a real Kafka's rates and token buckets measure; `cases.py` says how to ask it."""
