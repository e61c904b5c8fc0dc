"""The page in a real browser: search, basket, explanation, the sampler, by mouse and by keys, on a desk and a phone."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from sahcns.backbones import LightGCN
from sahcns.model import fit
from sahcns.samplers import RNS
from sahcns.training import Protocol
from tests.browser import Open, visiting
from tests.browser import browser as browser
from tests.model.films import films
from tests.model.test_recommender import made
from tests.serving.test_app import Running, running

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A trained model, and one with random vectors and no backbone."""
    home = tmp_path_factory.mktemp("models")
    terms = Protocol(epochs=3, batch=64, learning_rate=0.05)
    split = dataclasses.replace(films(), categories=None)
    trained = fit(split, LightGCN(dim=8, depth=2), RNS(), protocol=terms).recommender.save(home / "trained")
    with running(trained, made(films(), seed=3).save(home / "drawn")) as service:
        yield service


@pytest.fixture(scope="module")
def visit(browser: Any, service: Running) -> Iterator[Open]:
    home = f"http://127.0.0.1:{service.port}/"
    with visiting(browser, lambda url: url.startswith(home)) as open_url:
        yield lambda place="", *size, **settings: open_url(home + place, *size, **settings)


def titles(page: Any, column: int = 0) -> list[str]:
    page.locator(".column").nth(column).locator(".name b").first.wait_for()
    found: list[str] = page.locator(".column").nth(column).locator(".name b").all_inner_texts()
    return found


def names(service: Running, path: str) -> list[str]:
    _, found = service.ask(path)
    return [row["title"] for row in (found["users"][0] if "users" in found else found)["items"]]


def test_a_person_is_found_and_every_item_says_why(visit: Open, service: Running) -> None:
    page = visit()
    assert titles(page) == names(service, "/popular?k=10")
    page.locator("#who-finder input").fill("p07")
    page.locator("[role=option]", has_text="p07").click()
    page.locator("#person", has_text="p07 has").wait_for()
    page.locator(".because q").first.wait_for()
    assert titles(page) == names(service, "/recommend?user=p07&k=10")
    assert "user=p07" in page.url
    page.locator("summary").first.click()
    why = service.ask(f"/explain?user=p07&item={service.items('/recommend?user=p07')[0]}")[1]["explanations"][0]
    shown = page.locator("details[open] .reasons th").all_inner_texts()
    assert shown[:2] == [one["title"] for one in why["reasons"][:2]]
    page.go_back()
    page.locator("h2", has_text="What most people have").wait_for()


def test_a_basket_by_keys_alone(visit: Open, service: Running) -> None:
    page = visit()
    titles(page)
    for title in ("Film 101", "Film 103"):
        while page.evaluate("document.activeElement.getAttribute('role')") != "combobox":
            page.keyboard.press("Tab")
        page.keyboard.type(title)
        page.locator("[role=option]", has_text=title).wait_for()
        page.keyboard.press("ArrowDown")
        assert title in page.locator("[role=option][aria-selected]").inner_text()
        page.keyboard.press("Enter")
        page.locator(".chip", has_text=title).wait_for()
        page.keyboard.press("Shift+Tab")
    page.locator(".because q").first.wait_for()
    assert titles(page) == names(service, "/new?item=101&item=103&k=10")
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("details[open] button", has_text="Not this one").focus()
    first = titles(page)[0]
    page.keyboard.press("Enter")
    page.locator("#hidden-items .chip", has_text=first).wait_for()
    page.wait_for_function("first => document.querySelector('.name b').innerText !== first", arg=first)
    assert titles(page) == names(service, f"/new?item=101&item=103&k=10&without={first.split()[1]}")


def test_models_beside_each_other(visit: Open, service: Running) -> None:
    page = visit("#lists?user=p03")
    titles(page)
    page.locator("#models button", has_text="drawn").click()
    assert titles(page, 1) == names(service, "/recommend?user=p03&k=10&model=drawn")
    assert titles(page) == names(service, "/recommend?user=p03&k=10")
    item = page.locator(".column").nth(1).locator("li").first
    item.locator("summary").hover()
    assert page.locator("li.lit").count() >= 1
    page.reload()
    titles(page, 1)
    assert page.locator(".column").count() == 2


def numbers(page: Any) -> list[str]:
    found: list[str] = page.locator("#mix .sum td").all_inner_texts()
    return [one.strip() for one in found]


def test_the_sampler_follows_its_dials(visit: Open, service: Running) -> None:
    page = visit("#sampler?user=p07&seed=1")
    page.locator("#profiles svg").wait_for()
    item = page.locator("#positive").input_value()

    def told(**dials: float) -> Any:
        given = "".join(f"&{name}={value}" for name, value in dials.items())
        return service.ask(f"/inspect?user=p07&item={item}&seed=1{given}")[1]["pair"]

    def chosen() -> str:
        text: str = page.locator("#pool-table tr.chosen th span").first.inner_text()
        return text

    def turn(name: str, value: float) -> None:
        before = page.url
        page.locator(f"#{name}").fill(str(value))
        page.wait_for_function("before => location.href !== before", arg=before)

    assert chosen() == next(one["title"] for one in told()["pool"] if one["share"] > 0)
    assert page.locator("#pool-table tbody tr").count() == 10
    assert page.locator("#profiles path.profile").count() == 12  # the pool, the positive and the negative
    turn("lambda_max", 0)
    assert numbers(page) == ["0.00"] * 3
    turn("lambda_max", 1)
    assert numbers(page) == [f"{one:.2f}" for one in told(lambda_max=1)["negatives"][0]["strength"]]
    turn("pool", 30)
    assert page.locator("#map circle").count() == 30
    for alpha in (0, 2):
        turn("alpha", alpha)
        pool = told(alpha=alpha, pool=30, lambda_max=1)["pool"]
        assert chosen() == next(one["title"] for one in pool if one["share"] > 0)
    page.locator("#pool-table tbody tr").nth(3).hover()
    assert page.locator("#profiles .lit").count() == 1
    assert page.locator("#map .lit").count() == 1


def test_a_model_without_layers_is_refused_in_a_sentence(visit: Open) -> None:
    page = visit("#sampler?user=p07")
    page.locator("#profiles svg").wait_for()
    page.locator("#sampler-model").select_option("drawn")
    page.locator("#problem", has_text="drawn").wait_for()
    page.messages.clear()  # the browser's own word for a 404


@pytest.mark.parametrize("view", ["#lists?user=p07&model=trained&model=drawn", "#sampler?user=p07&pool=40", ""])
@pytest.mark.parametrize("width", [320, 390, 820])
def test_no_width_scrolls_sideways(visit: Open, view: str, width: int) -> None:
    page = visit(view, width, 844, is_mobile=True, has_touch=True)
    page.locator(".because q, #profiles svg, .name b").first.wait_for()
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_by_the_system_and_by_the_reader(visit: Open) -> None:
    page = visit(color_scheme="dark")

    def light() -> int:
        colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.strip("rgb()").split(","))) // 3

    titles(page)
    assert light() < 60
    page.locator("#theme").click()
    assert light() > 200
    page.reload()
    assert light() > 200


def test_a_token_is_asked_for_once(browser: Any, tmp_path: Any) -> None:
    with running(made(films()).save(tmp_path / "run"), token="secret") as service:
        page = browser.new_context().new_page()
        page.goto(f"http://127.0.0.1:{service.port}/")
        page.set_default_timeout(10_000)
        page.locator("#token input").fill("secret")
        page.keyboard.press("Enter")
        assert len(titles(page)) == 10
        page.context.close()
