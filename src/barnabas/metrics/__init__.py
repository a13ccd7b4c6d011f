"""Metrics of a process, in the text format of Prometheus.

metric      one metric: name, type, meaning, when it is an alarm
exposition  the text format
histogram   counts of measured values by size
"""
