"""Avro schemas."""
