"""Sign-in at an OpenID provider: the cluster gets the user's token, and its rules decide."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

pytest.importorskip("jwt")
pytest.importorskip("cryptography")

from playwright.sync_api import expect
from starlette.requests import Request as StarletteRequest

import barnabas
from barnabas.client.admin.acls import AclBinding
from barnabas.client.users.failed_sign_ins import FailedSignIns
from barnabas.console.access.oidc import provider as provider_module
from barnabas.console.access.oidc.attempts import Attempt, Attempts
from barnabas.console.access.oidc.http import ProviderUnusableError
from barnabas.console.access.oidc.options import oidc_options
from barnabas.console.access.oidc.provider import Provider, Tokens, claims_of
from barnabas.console.access.oidc.routes import OidcRoutes
from barnabas.console.access.oidc.user_token import UserToken
from barnabas.console.access.sessions import Sessions
from barnabas.console.options import ConsoleOptions
from barnabas.errors import InvalidArgument
from barnabas.security.sasl.exchange import SaslError
from tests.console.browser import WAIT_MS, Visit, chromium
from tests.console.console_process import ConsoleProcess
from tests.console.oidc_provider import CLIENT, SECRET, OidcProvider
from tests.support.sasl import SaslBroker
from tests.support.wait import LIMIT_S

expect.set_options(timeout=WAIT_MS)
REDIRECT = "http://localhost:8080/sign-in/oidc/back"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OidcProvider]:
    running = OidcProvider(tmp_path_factory.mktemp("provider"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def console(
    provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    folder = tmp_path_factory.mktemp("oidc")
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"{provider.issuer}/keys",
        "sasl.oauthbearer.expected.issuer": provider.issuer,
        "sasl.oauthbearer.expected.audience": "kafka",
    }
    secret = folder / "secret"
    secret.write_text(f"{SECRET}\n")
    with SaslBroker(folder, settings) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topic("orders", partitions=1)
            admin.create_topic("salaries", partitions=1)
            admin.create_acls([AclBinding("User:ada", "READ", "TOPIC", "orders")])
        options = ("--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT)
        more = ("--oidc-client-secret-file", str(secret))
        with ConsoleProcess(broker.sasl_bootstrap, folder / "log", *options, *more) as running:
            yield running


@pytest.fixture(autouse=True)
def honest(provider: OidcProvider) -> None:
    provider.user, provider.change = "ada", lambda claims: claims


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Shows where it would lead."""


def visit(url: str, cookie: str = "") -> tuple[str, str]:
    """Where an address leads, and the cookie that it sets."""
    try:
        build_opener(_Stay).open(Request(url, headers={"Cookie": cookie}), timeout=LIMIT_S)
    except HTTPError as answer:
        cookies = SimpleCookie()
        for each in answer.headers.get_all("Set-Cookie", []):
            cookies.load(each)
        text = "; ".join(f"{each.key}={each.value}" for each in cookies.values() if each.value)
        return answer.headers["Location"], text
    raise AssertionError(f"{url} leads nowhere")


def begin(console: ConsoleProcess) -> tuple[str, str]:
    """The address that the provider sends the browser back to, and the browser's cookie."""
    to_provider, cookie = visit(f"{console.url}/sign-in/oidc")
    back, _ = visit(to_provider)
    return back, cookie


def test_a_browser_signs_in_and_sees_what_the_rules_allow(console: ConsoleProcess) -> None:
    with chromium() as browser:
        page_visit = Visit(browser, console.url)
        page = page_visit.open("/topics")
        page.get_by_role("link", name="Sign in at 127.0.0.1").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        expect(page.locator(".who")).to_have_text("ada")
        page.get_by_role("link", name="Topics", exact=True).click()
        expect(page.get_by_role("link", name="orders")).to_be_visible()
        expect(page.get_by_role("link", name="salaries")).to_have_count(0)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert page_visit.complaints == []
        page_visit.close()


def test_the_session_is_the_users_and_signs_out(console: ConsoleProcess) -> None:
    back, cookie = begin(console)
    to, session = visit(back, cookie)
    assert to == "/"
    console.cookie = session
    console._token = None
    assert console.get("/api/session")["user"] == "ada"
    assert console.ask("/api/topics/salaries")[0] == 403
    assert console.try_change("POST", "/api/topics", {"name": "mine"})[0] == 403
    status, _, body = console.ask(
        "/api/session", method="POST", body={"user": "a", "password": "b"}
    )
    assert (status, b"no sign-in by password" in body) == (400, True)
    console.change("DELETE", "/api/session")
    assert console.ask("/api/topics/orders")[0] == 401
    console.cookie = ""


def test_a_way_back_is_for_one_browser_and_once(console: ConsoleProcess) -> None:
    back, cookie = begin(console)
    assert visit(back) == ("/sign-in?problem=expired", "")
    assert visit(back, "barnabas_oidc=of-someone-else")[0] == "/sign-in?problem=expired"
    state = parse_qs(urlsplit(back).query)["state"][0]
    assert visit(back.replace(state, "guessed"), cookie)[0] == "/sign-in?problem=expired"
    assert visit(back, cookie)[0] == "/"
    assert visit(back, cookie)[0] == "/sign-in?problem=expired"


def test_what_the_provider_says_is_not_shown(console: ConsoleProcess) -> None:
    back, cookie = begin(console)
    state = parse_qs(urlsplit(back).query)["state"][0]
    query = urlencode({"state": state, "error": "<script>\r\nSet-Cookie: a=b"})
    to, _ = visit(f"{console.url}/sign-in/oidc/back?{query}", cookie)
    assert to == "/sign-in?problem=refused"


BAD: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "nonce": lambda claims: {**claims, "nonce": "of another sign-in"},
    "issuer": lambda claims: {**claims, "iss": "https://evil.example"},
    "audience": lambda claims: {**claims, "aud": "another-client"},
    "authorized": lambda claims: {**claims, "azp": "another-client"},
    "several": lambda claims: {**claims, "aud": [CLIENT, "another"]},
    "expired": lambda claims: {**claims, "exp": claims["iat"] - 3600},
    "future": lambda claims: {**claims, "iat": claims["iat"] + 3600},
    "nameless": lambda claims: {**claims, "sub": ""},
}


@pytest.mark.parametrize("name", BAD)
def test_a_token_of_another_sign_in_is_refused(
    console: ConsoleProcess, provider: OidcProvider, name: str
) -> None:
    back, cookie = begin(console)
    provider.change = BAD[name]
    assert visit(back, cookie) == ("/sign-in?problem=token", "")


def test_a_token_of_another_signer_is_refused(
    console: ConsoleProcess, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual = provider.sign
    for forge in (
        lambda claims: actual(claims)[:-8] + "AAAAAAAA",
        lambda claims: "eyJhbGciOiJub25lIn0." + actual(claims).split(".")[1] + ".",
    ):
        monkeypatch.setattr(provider, "sign", forge)
        back, cookie = begin(console)
        assert visit(back, cookie) == ("/sign-in?problem=token", "")


def code_of(asked: Provider, attempt: Attempt) -> str:
    """What the provider sends the browser back with."""
    back, _ = visit(asked.authorization_url(attempt, REDIRECT))
    return parse_qs(urlsplit(back).query)["code"][0]


@pytest.fixture
def asked(provider: OidcProvider, tmp_path: Path) -> Iterator[Provider]:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    options = oidc_options(provider.issuer, CLIENT, secret, "openid", "sub", "access")
    assert options is not None
    provider.asked.clear()
    yield Provider(options)
    provider.is_down, provider.refusal = False, None


def test_keys_that_are_changed_are_fetched_again(provider: OidcProvider, asked: Provider) -> None:
    attempt = Attempts().begin()
    for _ in range(2):
        assert asked.tokens(code_of(asked, attempt), attempt, REDIRECT)[0] == "ada"
    assert provider.asked.count("/keys") == 1
    provider.rotate()
    user, tokens = asked.tokens(code_of(asked, attempt), attempt, REDIRECT)
    assert (user, claims_of(tokens.for_cluster)["aud"]) == ("ada", "kafka")
    assert provider.asked.count("/keys") == 2
    assert provider.asked.count("/.well-known/openid-configuration") == 1


def test_tokens_are_renewed_before_they_end(provider: OidcProvider, asked: Provider) -> None:
    now = time.time()
    token = UserToken(asked, Tokens("old", now + 10, "again"))
    before = provider.refreshed
    renewed = token()
    assert claims_of(renewed)["sub"] == "ada"
    assert token() == renewed
    assert provider.refreshed == before + 1
    assert UserToken(asked, Tokens("good", now + 1_000, "again"))() == "good"
    assert provider.refreshed == before + 1
    provider.is_down = True
    assert UserToken(asked, Tokens("old", time.time() + 20, "again"))() == "old"
    with pytest.raises(SaslError, match="the sign-in has ended"):
        UserToken(asked, Tokens("old", now - 1, "again"))()
    with pytest.raises(SaslError, match="sign in again"):
        UserToken(asked, Tokens("old", now - 1))()


def test_a_provider_that_is_down_is_not_asked_for_each_sign_in(
    provider: OidcProvider, asked: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "_FAILED_S", 600.0)
    provider.is_down = True
    for _ in range(5):
        with pytest.raises(ProviderUnusableError, match="503"):
            asked.authorization_url(Attempts().begin(), REDIRECT)
    assert len(provider.asked) == 1
    monkeypatch.setattr(provider_module, "_FAILED_S", -1.0)
    provider.is_down = False
    assert asked.authorization_url(Attempts().begin(), REDIRECT).startswith(provider.issuer)
    provider.is_down = True
    monkeypatch.setattr(provider_module, "_KEPT_S", -1.0)  # an old answer is better than none
    assert asked.authorization_url(Attempts().begin(), REDIRECT).startswith(provider.issuer)


def signed_in_at(asked: Provider) -> Callable[..., list[str]]:
    """Comes back from the provider with guessed codes; the words for what is wrong."""
    sessions = Sessions(ConsoleOptions("127.0.0.1:1", sign_in=True))
    sessions.failed = FailedSignIns(lambda: 1_000.0)
    routes = OidcRoutes(asked._options, sessions)
    routes._provider = asked

    async def come_back(address: str) -> str:
        attempt = routes._attempts.begin(address)
        query = urlencode({"state": attempt.state, "code": "guessed"})
        cookie = f"barnabas_oidc={attempt.browser}"
        headers = [(b"cookie", cookie.encode()), (b"host", b"localhost:8080")]
        request = {
            "type": "http",
            "scheme": "http",
            "path": "/sign-in/oidc/back",
            "query_string": query.encode(),
            "headers": headers,
            "client": (address, 1),
        }
        response = await routes.back(StarletteRequest(request))
        return response.headers["location"].rpartition("=")[2]

    async def all_of(addresses: Iterable[str]) -> list[str]:
        return [await come_back(each) for each in addresses]

    return lambda *addresses: asyncio.run(all_of(addresses))


def test_an_address_with_many_failures_has_to_wait(asked: Provider) -> None:
    come_back = signed_in_at(asked)
    assert come_back(*["10.0.0.1"] * 21, "10.0.0.2") == [*["token"] * 20, "wait", "token"]


@pytest.mark.parametrize(
    ("status", "said"),
    [(429, b"{}"), (408, b""), (401, b"{}"), (400, b'{"error": "invalid_client"}'), (200, b"<a>")],
)
def test_what_is_wrong_with_the_provider_is_no_failure_of_the_address(
    provider: OidcProvider, asked: Provider, status: int, said: bytes
) -> None:
    provider.refusal = status, said
    come_back = signed_in_at(asked)
    assert set(come_back(*["10.0.0.1"] * 30)) == {"provider"}


def test_another_issuer_is_no_failure_of_the_address(provider: OidcProvider) -> None:
    options = oidc_options(f"{provider.issuer}/", CLIENT, None, "openid", "sub", "access")
    assert options is not None
    assert set(signed_in_at(Provider(options))(*["10.0.0.1"] * 30)) == {"provider"}


def test_an_address_does_not_push_out_the_attempts_of_others() -> None:
    attempts = Attempts()
    mine = attempts.begin("10.0.0.1")
    theirs = [attempts.begin("10.0.0.2") for _ in range(2_000)]
    assert attempts.take(theirs[0].state, theirs[0].browser) is None
    assert attempts.take(theirs[-1].state, theirs[-1].browser) is theirs[-1]
    assert attempts.take(mine.state, mine.browser) is mine
    first = attempts.begin("2001:db8::1")  # a machine has all addresses of its network
    for each in range(50):
        attempts.begin(f"2001:db8::{each:x}")
    assert attempts.take(first.state, first.browser) is None


def test_attempts_end_and_are_few() -> None:
    now = 0.0
    attempts = Attempts(lambda: now)
    first = attempts.begin()
    others = [attempts.begin(f"10.0.{each // 50}.1") for each in range(1_000)]
    assert attempts.take(first.state, first.browser) is None
    assert attempts.take(others[-1].state, others[-1].browser) is others[-1]
    now = 601.0
    assert attempts.take(others[-2].state, others[-2].browser) is None


@pytest.mark.parametrize(
    ("issuer", "client", "scopes", "said"),
    [
        ("http://idp.example.com", "c", "openid", "begins with https://"),
        ("https://idp.example.com", None, "openid", "--oidc-client-id"),
        (None, "c", "openid", "--oidc-issuer"),
        ("https://idp.example.com", "c", "profile", "openid has to be among them"),
    ],
)
def test_a_provider_that_makes_no_sense(
    issuer: str | None, client: str | None, scopes: str, said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        oidc_options(issuer, client, None, scopes, "sub", "access")
