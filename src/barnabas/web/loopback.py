"""Names and addresses by which a machine reaches itself."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine is reached by it."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
