"""Schemas of Python types."""
