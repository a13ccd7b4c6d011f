"""Mirror Maker 2's property files: what they say, as flows of ours.

properties     flows and settings of groups of a file, and what of it is not used
file_settings  looks settings up at the three levels of a file, and notes what was asked for
unused         why a setting is not used
"""
