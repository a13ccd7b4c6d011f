"""Tests of formats of values."""
