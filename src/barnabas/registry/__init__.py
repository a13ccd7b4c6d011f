"""A schema registry with Confluent's formats.

model  what a registry knows and decides, without I/O
"""
