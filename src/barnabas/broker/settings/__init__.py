"""A broker's settings.

definitions         every setting, with its type, default, range and description
without_effect      Kafka settings that are accepted and mean nothing here
aliases             Kafka's older names of settings
time_units          Kafka's hours and minutes of a setting in milliseconds
named_listeners     Kafka's listeners with names: one is used, those of controllers are left out
component_settings  the settings of each component, typed
topic_settings      the settings of a topic, typed
config              the settings of one broker: parsed once, some changeable while it runs
"""
