"""A broker's settings.

definitions     every setting, with its type, default, range and description
without_effect  Kafka settings that are accepted and mean nothing here
config          the settings of one broker: parsed once, some changeable while it runs
"""
