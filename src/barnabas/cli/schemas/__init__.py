"""`barnabas schemas`: schemas of a registry, and changes of schema files.

commands  the group
subjects  list, show, register and delete
transfer  export and import
options   what they share
check     check changes of schema files, without a registry
diff      show what a change breaks
file_options  what these two take
schema_files  files of a folder or a git revision, and what they refer to
git_revision  files of a git revision
"""
