"""Expectations: rules that the rows of a source, or of the result, have to meet.

expectation    a rule: its condition, its name, and what happens to rows that fail it
checked_rows   rows with their rules applied and counted
rule_counts    how many rows passed and failed each rule, as Spark reports it
"""
