"""Why a handshake failed, in one line: OpenSSL's words are for those who know its source."""

import ssl

REVOKED = "its certificate was revoked"
_THEIRS = {
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust the CA of this side's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it says that this side's certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "it says that this side's certificate was revoked",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not accept this side's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not accept this side's certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it does not accept this side's certificate",
    "TLSV1_ALERT_ACCESS_DENIED": "it does not accept this side's certificate",
    "TLSV1_ALERT_DECRYPT_ERROR": "it does not accept this side's certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it requires a client certificate, and none was given",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it refuses the handshake: it may require a client "
    "certificate, or share no cipher",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it serves other versions of TLS (ssl.enabled.protocols)",
}
"""What the other side has said in an alert."""
_OURS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it has sent no certificate, and ssl.client.auth is "
    "required",
    "NO_SHARED_CIPHER": "there is no common cipher",
    "UNSUPPORTED_PROTOCOL": "it uses another version of TLS (ssl.enabled.protocols)",
    "NO_PROTOCOLS_AVAILABLE": "it uses another version of TLS (ssl.enabled.protocols)",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "HTTP_REQUEST": "it speaks HTTP",
    "HTTPS_PROXY_REQUEST": "it speaks HTTP",
    "UNEXPECTED_EOF_WHILE_READING": "it closed the connection during the TLS handshake",
    "RECORD_LAYER_FAILURE": "it does not speak TLS",
}
_UNTRUSTED = "unable to get", "self-signed", "self signed", "unable to verify"


def why_handshake_failed(error: BaseException) -> str:
    """A reason to put behind the name of the other side."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error)
    if isinstance(error, ssl.SSLEOFError):
        return "it closed the connection during the TLS handshake"
    reason = getattr(error, "reason", None)
    if isinstance(reason, str):
        return (
            _THEIRS.get(reason) or _OURS.get(reason) or f"TLS: {reason.replace('_', ' ').lower()}"
        )
    return str(error)


def is_about_certificates(error: BaseException) -> bool:
    """Whether it stays so until somebody changes certificates or settings."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return True
    reason = getattr(error, "reason", None)
    return reason in _THEIRS or reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    message = error.verify_message or str(error)
    if "revoked" in message:
        return REVOKED
    if "CRL" in message:  # before the others: the words are the same for lists and certificates
        return (
            f"whether its certificate was revoked can't be checked ({message}); ssl.crl.location "
            "needs a current list of each CA"
        )
    if "expired" in message:
        return "its certificate has expired"
    if "not yet valid" in message:
        return "its certificate is not valid yet"
    if "mismatch" in message:
        host = message.rpartition("for ")[2].rstrip(".")
        return f"its certificate is not for {host}, the host that was connected to"
    if message.startswith(_UNTRUSTED):
        return f"its certificate is not of a trusted CA ({message})"
    return f"its certificate is not valid: {message}"
