"""What is wanted and what is, in compacted topics.

records       the records of both topics, and what they mean
state_topics  the topics as tables
leadership    who may write them
"""
