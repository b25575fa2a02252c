"""Parts of an object that are made on first access."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from engrams.engine.lazy_part import LazyPart


class Workshop:
    """Has parts, and counts how often each was made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    @LazyPart
    def wheel(self) -> object:
        """A wheel."""
        time.sleep(0.01)
        self.made.append("wheel")
        return object()

    @LazyPart
    def cart(self) -> list[object]:
        self.made.append("cart")
        return [self.wheel]


def test_a_part_is_made_once_on_first_access_from_any_thread() -> None:
    """Threads that come at once get one part, and nothing makes it before."""
    workshop = Workshop()
    assert workshop.made == []
    with ThreadPoolExecutor(8) as threads:
        wheels = set(threads.map(lambda _: workshop.wheel, range(32)))
    assert len(wheels) == 1
    assert workshop.made == ["wheel"]


def test_a_part_may_be_made_from_others() -> None:
    """The maker of a part may ask for another part, which is made then."""
    workshop = Workshop()
    assert workshop.cart == [workshop.wheel]
    assert workshop.made == ["cart", "wheel"]


def test_one_can_ask_if_a_part_was_made() -> None:
    """The question itself makes nothing, and each object has its own parts."""
    workshop = Workshop()
    other = Workshop()
    assert not Workshop.wheel.is_made(workshop)
    assert workshop.wheel is not None
    assert Workshop.wheel.is_made(workshop)
    assert not Workshop.wheel.is_made(other)


def test_a_part_has_the_docstring_of_its_maker() -> None:
    """The documentation of a class finds its parts described."""
    assert Workshop.wheel.__doc__ == "A wheel."
