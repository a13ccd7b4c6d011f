"""Transactions: who writes what together, and how it ends, as a pure state machine."""
