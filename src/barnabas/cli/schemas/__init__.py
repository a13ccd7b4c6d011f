"""`barnabas schemas`: schemas of a registry.

commands  the group
subjects  list, show, register and delete
transfer  export and import
options   what they share
"""
