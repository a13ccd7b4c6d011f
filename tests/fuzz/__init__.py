"""Hostile frames over TCP against a real broker process."""
