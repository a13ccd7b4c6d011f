"""Producers and consumers of values whose schemas a registry has."""
