"""`barnabas cluster doctor`: what is wrong with a cluster, and what to do.

command   the command; `barnabas.diagnosis` has the checks
report    findings as text or JSON, and the exit code
"""
