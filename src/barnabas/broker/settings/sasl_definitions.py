"""Settings of sign-in, with Kafka's names; with `listener.name.NAME.` in front for one listener."""

from barnabas.metadata.config_values import ConfigDef, ConfigType

_USERS = "users are in the metadata log, see `barnabas users`"

SASL_CONFIGS = (
    ConfigDef(
        "sasl.enabled.mechanisms",
        ConfigType.LIST,
        "SCRAM-SHA-256,SCRAM-SHA-512",
        "Mechanisms by which clients sign in on SASL listeners",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        per_listener=True,
    ),
    ConfigDef(
        "plain.sasl.jaas.config",
        ConfigType.PASSWORD,
        None,
        'Users of PLAIN: PlainLoginModule required user_alice="PASSWORD" user_bob="PASSWORD";',
        per_listener=True,
    ),
    *(
        ConfigDef(
            f"{mechanism}.sasl.jaas.config",
            ConfigType.PASSWORD,
            None,
            "No effect: users are in the metadata log, see `barnabas users`",
            per_listener=True,
            without_effect=_USERS,
        )
        for mechanism in ("scram-sha-256", "scram-sha-512")
    ),
    ConfigDef(
        "oauthbearer.sasl.jaas.config",
        ConfigType.PASSWORD,
        None,
        "OAuthBearerLoginModule required unsecuredValidatorRequiredScope=SCOPE; accepts tokens "
        "without a signature, for tests",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.jwks.endpoint.url",
        ConfigType.STRING,
        None,
        "Keys by which tokens of OAUTHBEARER are checked, a JWKS: https://... or file:///...",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        ConfigType.LONG,
        "3600000",
        "Time after which these keys are fetched again",
        low=1000,
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.expected.issuer",
        ConfigType.STRING,
        None,
        "Issuer that tokens must have (iss)",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.expected.audience",
        ConfigType.LIST,
        None,
        "Audiences of which tokens must have one (aud)",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.sub.claim.name",
        ConfigType.STRING,
        "sub",
        "Claim of a token that has the user",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.scope.claim.name",
        ConfigType.STRING,
        "scope",
        "Claim of a token that has its scopes",
        per_listener=True,
    ),
    ConfigDef(
        "sasl.oauthbearer.clock.skew.seconds",
        ConfigType.INT,
        "30",
        "Difference of clocks that is tolerated in the times of a token",
        low=0,
        per_listener=True,
    ),
    ConfigDef(
        "sasl.server.max.receive.size",
        ConfigType.INT,
        "524288",
        "Maximum size of a request before its client has signed in, in bytes",
        low=1024,
    ),
    ConfigDef(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        "100",
        "Delay of the answer to a failed sign-in, after which the connection is closed",
        low=0,
    ),
    ConfigDef(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        "0",
        "Time after which a client has to sign in again, or its connection is closed; 0: never",
        low=0,
        per_listener=True,
    ),
)
