"""A broker's settings.

definitions     every setting, with its type, default, range and description
config          the settings of one broker: parsed once, some changeable while it runs
"""
