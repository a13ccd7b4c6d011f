"""What a real Kafka's StandardAuthorizer answers; `cases.py` says how to ask it."""
