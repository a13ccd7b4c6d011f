"""Options of the JVM that Spark's driver runs in."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""For a process that ends before the second compiler pays off. Without that compiler a JVM has room
for 48 MB of code. Spark needs more within two minutes, and then nothing is compiled any more."""

MESSAGES_TO_STDERR = "-XX:+DisplayVMOutputToStderr -Xlog:disable -Xlog:all=warning:stderr"
"""A JVM prints its warnings to stdout, where a command prints what other programs read."""
