"""Applications: handlers in memory, and against real brokers."""
