"""Quotas: what clients use, and how long those over their quota wait."""
