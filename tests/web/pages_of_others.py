"""What a browser sends for pages that may want to do harm."""

REQUESTS_OF_PAGES = (
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example", "Accept-Language": "en"},
    {"Host": "evil.example", "Origin": "http://evil.example"},
)
"""Of other sites, and of one whose name has the address of the server now."""
