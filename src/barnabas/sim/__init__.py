"""Deterministic simulation: a whole cluster of real brokers in one thread, decided by one seed."""
