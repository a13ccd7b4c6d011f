"""A broker's settings.

definitions         every setting, with its type, default, range and description
tls_definitions     the settings of TLS
without_effect      Kafka settings that are accepted and mean nothing here
aliases             Kafka's older names of settings
time_units          Kafka's hours and minutes of a setting in milliseconds
named_listeners     the listeners of a node: names, protocols, addresses
listener_overrides  settings of single listeners
component_settings  the settings of each component, typed
topic_settings      the settings of a topic, typed
sizing              defaults that fit a small container
config              the settings of one broker: parsed once, some changeable while it runs
"""
