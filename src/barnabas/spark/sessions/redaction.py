"""Options that Spark does not show in plans, which its UI, its log and its errors have.

Spark hides by itself what is named or contains `password`, `secret` or `token`. These it would
show: keys as text, a JAAS configuration, what readers of pipelines are told, which may contain
the sign-in for dead letters, and connectors and registries, which may contain a URL with a
password.
"""

REDACTION_CONF = {
    "spark.sql.redaction.options.regex": (
        "(?i)url|barnabas[.]decoding|^connector$|^registry$|ssl[.]key([.]pem|store[.]key)|sasl[.]jaas"
    )
}
"""With Spark's default, `url`."""
