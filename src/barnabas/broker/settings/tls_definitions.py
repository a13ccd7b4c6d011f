"""The settings of TLS: of a listener, and of connections to other nodes by that listener."""

from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.tls.tls_files import VERSIONS

_STRING = ConfigType.STRING
_LIST = ConfigType.LIST
_PASSWORD = ConfigType.PASSWORD
_ONE_FORMAT = "PEM is the only format"


def _of_listener(
    name: str,
    kind: ConfigType,
    default: str | None,
    doc: str,
    choices: tuple[str, ...] = (),
    without_effect: str | None = None,
    *,
    dynamic: bool = False,
) -> ConfigDef:
    return ConfigDef(
        name,
        kind,
        default,
        doc,
        choices=choices,
        dynamic=dynamic,
        per_listener=True,
        without_effect=without_effect,
    )


TLS_CONFIGS = (
    _of_listener(
        "ssl.keystore.type", _STRING, "PEM", "Format of the key store", ("PEM",), _ONE_FORMAT
    ),
    _of_listener(
        "ssl.keystore.location",
        _STRING,
        None,
        "PEM file with this node's certificate chain and private key. It may be replaced at any "
        "time",
        dynamic=True,
    ),
    _of_listener(
        "ssl.keystore.certificate.chain",
        _PASSWORD,
        None,
        "Certificate chain in PEM format, in place of ssl.keystore.location",
    ),
    _of_listener(
        "ssl.keystore.key",
        _PASSWORD,
        None,
        "Private key in PEM format, for ssl.keystore.certificate.chain",
    ),
    _of_listener("ssl.key.password", _PASSWORD, None, "Password of an encrypted private key"),
    _of_listener(
        "ssl.truststore.type", _STRING, "PEM", "Format of the trust store", ("PEM",), _ONE_FORMAT
    ),
    _of_listener(
        "ssl.truststore.location",
        _STRING,
        None,
        "PEM file with the CAs of clients and of other nodes. It may be replaced at any time",
        dynamic=True,
    ),
    _of_listener(
        "ssl.truststore.certificates",
        _PASSWORD,
        None,
        "CAs in PEM format, in place of ssl.truststore.location",
    ),
    _of_listener(
        "ssl.crl.location",
        _STRING,
        None,
        "PEM file with certificate revocation lists (CRLs), one for each CA: a revoked certificate "
        "of a client or another node is refused. It may be replaced at any time",
        dynamic=True,
    ),
    _of_listener(
        "ssl.enabled.protocols",
        _LIST,
        ",".join(VERSIONS),
        "Versions of TLS that are served",
        VERSIONS,
    ),
    _of_listener(
        "ssl.client.auth",
        _STRING,
        "none",
        "Whether clients have to show a certificate",
        ("none", "requested", "required"),
    ),
    _of_listener(
        "ssl.principal.mapping.rules",
        _STRING,
        "DEFAULT",
        "How the subject of a client's certificate becomes the name of its principal: DEFAULT or "
        "RULE:PATTERN/REPLACEMENT/[LU],...",
    ),
    _of_listener(
        "ssl.endpoint.identification.algorithm",
        _STRING,
        "https",
        "Whether a node verifies that another node's certificate is of its host: https, or nothing",
        ("https", ""),
    ),
)
