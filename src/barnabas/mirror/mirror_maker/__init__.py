"""Mirror Maker 2's settings: what they say, as flows of ours.

properties          flows and settings of groups of a property file, and what of it is not used
connector_settings  the flow of a connector, as MirrorSourceConnector is configured
file_settings       looks settings up at the three levels of a file, and notes what was asked for
unused              why a setting is not used
"""
