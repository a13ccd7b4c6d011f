"""`barnabas console`: the web console.

command  its options
run      serves it, says where, opens the browser
"""
