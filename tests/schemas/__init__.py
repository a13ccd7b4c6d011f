"""Schemas: parsing, texts, compatibility and models."""
