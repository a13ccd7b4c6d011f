"""Mutation testing with a fixed list: faults that a person could write, and what finds them.

python -m tools.mutations [--tier quick|all] [--only NAME ...] [--table FILE]
"""
