"""Quotas: rates, token buckets, precedence, values."""
