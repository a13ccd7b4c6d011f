"""State of handlers with `app.test()`."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from barnabas import App, Depends, Expires, State
from barnabas.app import Outgoing
from barnabas.errors import HandlerFailed, InvalidArgument
from barnabas.records.message import Message

TOPIC = "shop.add.cart.changelog"
both = pytest.mark.parametrize("exactly_once", [False, True])


@dataclass
class Cart:
    items: list[str] = field(default_factory=list)


def shop(**options: Any) -> App:
    app = App()

    @app.handler("items", group="shop", produces="sizes", **options)
    def add(item: str, cart: State[Cart]) -> str:
        found = cart.get(Cart())
        found.items.append(item)
        if item == "bad" or (item == "flaky" and flaky.pop()):
            cart.set(found)
            raise ValueError(item)
        if item == "pay":
            cart.delete()
            return "paid"
        cart.set(found)
        return ",".join(found.items)

    flaky = [False, True]
    return app


@both
def test_each_key_has_a_value(exactly_once: bool) -> None:
    with shop(exactly_once=exactly_once).test() as run:
        run.send("items", "apple", key="ada")
        run.send("items", "pear", key="bob")
        run.send("items", "plum", key="ada")
        assert run.values("sizes", str) == ["apple", "pear", "apple,plum"]
        written = [(each.key, each.value) for each in run.records(TOPIC)]
        assert written[0] == (b"ada", b'{"items":["apple"]}')
        assert written[2] == (b"ada", b'{"items":["apple","plum"]}')
        assert run.state("add", "ada") == Cart(["apple", "plum"])
        run.send("items", "pay", key="ada")
        assert run.state("add", "ada") is None
        assert run.state("add", b"bob") == Cart(["pear"])
        assert run.records(TOPIC)[3].value is None
        run.send("items", "fig", key="ada")
        assert run.values("sizes", str)[-1] == "fig"


@both
def test_a_failed_attempt_changes_nothing(exactly_once: bool) -> None:
    app = shop(exactly_once=exactly_once, retries=1, backoff=0, dead_letters="dead")
    with app.test() as run:
        run.send("items", "apple", key="ada")
        run.send("items", "bad", key="ada")
        run.send("items", "flaky", key="ada")
        assert run.values("sizes", str) == ["apple", "apple,flaky"]
        assert len(run.dead_letters("dead")) == 1
        assert len(run.records(TOPIC)) == 2


@pytest.mark.parametrize("retries", [0, 2])
@both
def test_a_record_that_no_function_saw_does_not_get_the_change_of_a_failed_one(
    exactly_once: bool, retries: int
) -> None:
    app = App()

    @app.middleware
    async def leave_out(message: Message, call_next: Any) -> Any:
        return None if b"leave out" in (message.value or b"") else await call_next(message)

    @app.handler(
        "orders",
        group="shop",
        retries=retries,
        backoff=0,
        on_failure="skip",
        exactly_once=exactly_once,
    )
    def count(order: str, total: State[int]) -> None:
        total.set(total.get(0) + 100)
        if order == "bad":
            raise ValueError(order)

    with app.test() as run:
        run.send("orders", "bad", key="k")
        run.send("orders", "leave out", key="k")
        run.send("orders", "leave out")  # has no key
        assert run.state("count", "k") is None
        run.send("orders", "good", key="k")
        run.send("orders", "leave out", key="k")
        assert len(run.records("shop.count.total.changelog")) == 1
        assert run.state("count", "k") == 100


@both
def test_a_call_that_raises_changes_nothing_though_middleware_goes_on(exactly_once: bool) -> None:
    app = App()

    @app.middleware
    async def log(message: Message, call_next: Any) -> Any:
        try:
            return await call_next(message)
        except ValueError:
            return None

    @app.handler("orders", group="shop", exactly_once=exactly_once)
    def count(order: str, total: State[int]) -> None:
        total.set(total.get(0) + 1)
        if order == "bad":
            raise ValueError(order)

    with app.test() as run:
        run.send("orders", "good", key="k")
        run.send("orders", "bad", key="k")
        assert run.state("count", "k") == 1


@both
def test_the_state_is_that_of_the_key_that_was_read(exactly_once: bool) -> None:
    app = App()

    @app.middleware
    async def rename(message: Message, call_next: Any) -> Any:
        return await call_next(message._replace(key=b"renamed"))

    @app.handler("orders", group="shop", exactly_once=exactly_once)
    def count(order: str, key: str, total: State[int]) -> None:
        assert key == "renamed"
        assert total.key == b"k"
        total.update(lambda old: old + 1, 0)

    with app.test() as run:
        run.send("orders", "one", key="k")
        run.send("orders", "two", key="k")
        assert run.state("count", "k") == 2
        assert run.state("count", "renamed") is None


@both
def test_a_record_without_a_key_is_given_up(exactly_once: bool) -> None:
    with shop(exactly_once=exactly_once, retries=5, dead_letters="dead").test() as run:
        run.send("items", "apple")
        (letter,) = run.dead_letters("dead")
        assert "no key" in letter.reason
        assert letter.attempts == 1
    app = shop(exactly_once=exactly_once)
    with pytest.raises(HandlerFailed, match="no key"), app.test() as run:
        run.send("items", "apple")


@both
def test_many_at_once(exactly_once: bool) -> None:
    app = App()

    @app.handler("n", group="g", produces="sums", exactly_once=exactly_once, concurrency=8)
    async def add(message: Message[str, int], total: State[int]) -> Outgoing | None:
        new = total.update(lambda old: old + message.value, 0)
        return Outgoing(new) if new == 45 else None

    with app.test() as run:
        for number in range(10):
            for key in "abc":
                run._topics.append("n", number.to_bytes(8), key.encode(), ())
        run.send("n", 0, key="d")
        assert run.values("sums", int) == [45, 45, 45]


def test_with_dependencies_and_middleware() -> None:
    app = App()

    def prefix() -> str:
        return "> "

    @app.middleware
    async def twice(message: Message, call_next: Any) -> Any:
        await call_next(message)
        return await call_next(message)  # begins with what was stored before

    @app.handler("words", group="g")
    def keep(
        word: str, key: str, words: State[list[str]], start: Annotated[str, Depends(prefix)]
    ) -> None:
        assert words.key == key.encode()
        words.set([*words.get([]), start + word])

    with app.test() as run:
        run.send("words", "one", key="a")
        run.send("words", "two", key="a")
        assert run.records("g.keep.words.changelog")[-1].value == b'["> one","> two"]'


@both
def test_values_expire(exactly_once: bool) -> None:
    app = App()
    seen: list[int | None] = []

    @app.handler("n", group="g", exactly_once=exactly_once)
    def keep(number: int, kept: Annotated[State[int], Expires("7d")]) -> None:
        seen.append(kept.get())
        kept.set(number)

    def deleted() -> list[bytes | None]:
        return [each.key for each in run.records("g.keep.kept.changelog") if each.value is None]

    with app.test() as run:
        run.send("n", 1, key="a")
        run.advance("3d")
        run.send("n", 2, key="b")
        run.advance("3d")
        run.send("n", 3, key="b")
        assert deleted() == []
        assert run.state("keep", "a") == 1
        run.advance("1d")
        assert run.state("keep", "a") is None
        assert deleted() == [b"a"]
        run.send("n", 4, key="a")
        run.send("n", 5, key="b")
        assert seen == [None, None, 2, None, 3]
        run.advance("8d")
        assert deleted() == [b"a", b"a", b"b"]
        run.advance("8d")
        assert len(deleted()) == 3


def test_expiry_needs_some_time() -> None:
    def keep(number: int, kept: Annotated[State[int], Expires(0)]) -> None: ...

    with pytest.raises(InvalidArgument, match="at once"):
        App().handler("n", group="g")(keep)


def test_a_value_that_can_not_be_encoded_is_a_failure() -> None:
    app = App()

    @app.handler("words", group="g", dead_letters="dead")
    def keep(word: str, kept: State[int]) -> None:
        kept.set(word)  # type: ignore[arg-type]

    with app.test() as run:
        run.send("words", "one", key="a")
        assert len(run.dead_letters("dead")) == 1
        assert run.records("g.keep.kept.changelog") == []


def test_the_function_can_be_called_with_a_state() -> None:
    state = State(Cart(["apple"]), key=b"ada")
    assert state.get(Cart()).items == ["apple"]
    assert state.exists
    state.delete()
    assert state.get() is None
    assert not state.exists
    with pytest.raises(InvalidArgument, match=r"delete\(\)"):
        state.set(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"group": None}, "a"),
        ({"group": "g", "share": True}, "a"),
        ({"group": "g", "retry_topics": ["1s"]}, "a"),
        ({"group": "g"}, ["a", "b"]),
        ({"group": "a/b"}, "a"),
    ],
)
def test_what_state_does_not_go_with(options: dict[str, Any], topics: Any) -> None:
    app = App()

    def keep(word: str, kept: State[int]) -> None: ...

    with pytest.raises(InvalidArgument, match=r"State|topic"):
        app.handler(topics, **options)(keep)


def test_declarations_that_are_refused() -> None:
    app = App()

    def untyped(word: str, kept: State) -> None: ...  # type: ignore[type-arg]

    with pytest.raises(InvalidArgument, match=r"kept: State\[Cart\]"):
        app.handler("a", group="g")(untyped)

    def two(word: str, one: State[int], other: State[int]) -> None: ...

    with pytest.raises(InvalidArgument, match="two states"):
        app.handler("a", group="g")(two)

    def many(words: list[str], kept: State[int]) -> None: ...

    with pytest.raises(InvalidArgument, match="list"):
        app.handler("a", group="g")(many)
