"""Addresses of clients, in one notation: access rules and quotas compare them as text."""

from ipaddress import IPv6Address


def canonical_address(host: str) -> str:
    """An IPv6 address as Python writes it; other text as it is.

    Java writes `0:0:0:0:0:0:0:1` where Python writes `::1`. An IPv4 address that was mapped into
    IPv6, as on a socket that takes both, becomes IPv4 again.
    """
    if ":" not in host:
        return host
    try:
        address = IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)
