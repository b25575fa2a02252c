"""Spaces: what several people share is found by its members, and by nobody else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Scope, Status
from engrams.errors import (
    ConflictError,
    EngramsError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.spaces import SpaceRegistry
from engrams.spaces.speakers import sign_turn
from engrams.testing import SettableClock

ANN = Scope(("user", "ann"))
BOB = Scope(("user", "bob"))
EVE = Scope(("user", "eve"))
PASSWORD = "The Wi-Fi password of the flat is on the fridge."
QUESTION = "Where is the Wi-Fi password of the flat?"


@pytest.fixture
def memory(home: Path) -> Iterator[MemoryEngine]:
    """A memory in which Ann owns the space home, Bob edits it, and Eve is no member."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        memory.spaces.create("home", scope=ANN)
        memory.spaces.set_role("home", "bob", "editor", scope=ANN)
        yield memory


def tell(memory: MemoryEngine, person: Scope, text: str, space: str = "home") -> str:
    """Have a member tell a space something; return the id of the message."""
    scope = memory.spaces.enter(space, scope=person, writes=True)
    (receipt,) = memory.observe([sign_turn(Turn(text), person.labels[-1])], scope=scope)
    assert memory.drain(30)
    return receipt.id


def find_texts(memory: MemoryEngine, person: Scope, query: str = QUESTION) -> list[str]:
    return [hit.record.text for hit in memory.search(query, scope=person).hits]


def test_a_member_finds_what_another_told_the_space(memory: MemoryEngine) -> None:
    """The hit has the space's scope and the teller's name; the person's own memories are found beside
    it, the better one first. A stranger finds nothing and learns nothing of the space.
    """
    memory.add("My own router has no password.", scope=ANN)
    tell(memory, BOB, PASSWORD)
    hits = memory.search(QUESTION, scope=ANN).hits
    assert hits[0].record.text == PASSWORD
    assert (hits[0].record.scope, hits[0].record.speaker) == (Scope(("space", "home")), "bob")
    assert {hit.record.scope.owner for hit in hits} == {ANN, Scope(("space", "home"))}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(memory.search(QUESTION, scope=ANN, limit=1).hits) == 1
    assert find_texts(memory, EVE) == []
    assert memory.spaces.list(scope=EVE) == ()
    with pytest.raises(NotFoundError, match="You are in no space 'home'"):
        memory.spaces.enter("home", scope=EVE)
    with pytest.raises(NotFoundError, match="You are in no space 'nowhere'"):
        memory.spaces.enter("nowhere", scope=EVE)


def test_who_told_it_is_who_it_is_about(memory: MemoryEngine) -> None:
    """ "I" in a space is the member who said it."""
    tell(memory, BOB, "I am allergic to walnuts.")
    (hit, *_) = memory.search("Who is allergic to walnuts?", scope=ANN).hits
    assert [(fact.subject, fact.object) for fact in hit.facts] == [("bob", "walnuts")]


@pytest.mark.parametrize(
    ("role", "may_write", "may_manage"),
    [("reader", False, False), ("editor", True, False), ("owner", True, True)],
)
def test_a_role_allows_what_it_says(
    memory: MemoryEngine, role: str, may_write: bool, may_manage: bool
) -> None:
    """Readers search, editors also write, owners also change members and delete the space."""
    memory.spaces.set_role("home", "eve", role, scope=ANN)
    tell(memory, BOB, PASSWORD)
    assert find_texts(memory, EVE) == [PASSWORD]
    attempts = {
        "write": lambda: memory.spaces.enter("home", scope=EVE, writes=True),
        "promote": lambda: memory.spaces.set_role("home", "eve", "owner", scope=EVE),
        "invite": lambda: memory.spaces.set_role("home", "mallory", "reader", scope=EVE),
        "remove": lambda: memory.spaces.remove("home", "bob", scope=EVE),
        "delete": lambda: memory.spaces.delete("home", scope=EVE),
    }
    for attempt, call in attempts.items():
        if may_write if attempt == "write" else may_manage:
            call()
        else:
            with pytest.raises(RefusedError, match="this takes the role"):
                call()


def test_whoever_is_removed_or_leaves_finds_nothing(memory: MemoryEngine) -> None:
    """From that moment on; what they told stays with the others."""
    memory.spaces.set_role("home", "eve", "reader", scope=ANN)
    tell(memory, BOB, PASSWORD)
    assert find_texts(memory, BOB) == find_texts(memory, EVE) == [PASSWORD]
    memory.spaces.remove("home", "bob", scope=ANN)
    memory.spaces.leave("home", scope=EVE)
    for person in (BOB, EVE):
        assert find_texts(memory, person) == []
        assert memory.context(QUESTION, scope=person).text == ""
        with pytest.raises(NotFoundError):
            memory.spaces.enter("home", scope=person)
    assert find_texts(memory, ANN) == [PASSWORD]
    with pytest.raises(NotFoundError, match="no member"):
        memory.spaces.remove("home", "bob", scope=ANN)


def test_a_space_never_loses_its_last_owner(memory: MemoryEngine) -> None:
    """Nobody leaves, is removed or degraded so that nobody could add members any more, also if two
    owners remove each other at once.
    """
    for call in (
        lambda: memory.spaces.leave("home", scope=ANN),
        lambda: memory.spaces.set_role("home", "ann", "editor", scope=ANN),
    ):
        with pytest.raises(RefusedError, match="Nobody would own"):
            call()
    memory.spaces.set_role("home", "bob", "owner", scope=ANN)
    start = threading.Barrier(2)

    def remove(actor: Scope, other: str) -> None:
        start.wait()
        try:
            memory.spaces.remove("home", other, scope=actor)
        except EngramsError:
            return

    threads = [
        threading.Thread(target=remove, args=(ANN, "bob")),
        threading.Thread(target=remove, args=(BOB, "ann")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [person for person in (ANN, BOB) if memory.spaces.list(scope=person)]
    assert len(left) == 1
    assert [str(member.role) for member in memory.spaces.get("home", scope=left[0]).members] == [
        "owner"
    ]


@pytest.mark.parametrize("writes", range(3))
def test_a_crash_between_two_writes_opens_nothing(
    memory: MemoryEngine, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Adding and removing a member can be repeated; in between the member has the role or has none."""
    tell(memory, BOB, PASSWORD)
    store: Any = memory._store
    save_state = store.save_state
    for call in (
        lambda: memory.spaces.set_role("home", "eve", "reader", scope=ANN),
        lambda: memory.spaces.remove("home", "eve", scope=ANN),
    ):
        left = [writes]

        def save_few(*arguments: Any) -> Any:
            if not left[0]:  # noqa: B023 - called in this round only
                raise StoreError("The machine went down.")
            left[0] -= 1  # noqa: B023
            return save_state(*arguments)

        monkeypatch.setattr(store, "save_state", save_few)
        with contextlib.suppress(StoreError):
            call()
        monkeypatch.setattr(store, "save_state", save_state)
        is_member = any(
            member.owner == EVE for member in memory.spaces.get("home", scope=ANN).members
        )
        assert (find_texts(memory, EVE) == [PASSWORD]) is is_member
        # Of somebody who is no member any more, there is nothing left to remove.
        with contextlib.suppress(*(() if is_member else (NotFoundError,))):
            call()
    assert find_texts(memory, EVE) == []


def test_a_context_shows_the_space_below_the_own_memory(memory: MemoryEngine) -> None:
    """Under its own heading, within the budget; nothing of it in a conversation that reads nothing, or
    where recall is off.
    """
    memory.add("I keep the spare router in the cellar.", scope=ANN)
    tell(memory, BOB, PASSWORD)
    question = "Where is the Wi-Fi password, and where is the spare router?"
    context = memory.context(question, scope=ANN)
    heading = "From the shared memory 'home', of which the user is a member:"
    own, _, shared = context.text.partition(heading)
    assert "spare router in the cellar" in own
    assert "password" not in own
    assert f"bob: {PASSWORD}" in shared
    assert context.tokens <= memory.settings.read.context_tokens
    assert {hit.record.scope.owner for hit in context.hits} == {ANN, Scope(("space", "home"))}
    memory.add("Nobody smokes in the flat.", scope=("space", "home"), kind="rule")
    assert memory.context(question, scope=ANN).text.count(heading) == 2
    for tokens in range(0, 300, 5):
        assert memory.context(question, scope=ANN, tokens=tokens).tokens <= tokens
    memory.sessions.begin("quiet", scope=ANN, mode="incognito")
    assert "fridge" not in memory.deliver(question, scope=ANN, session="quiet").text
    silent = memory.context(question, scope=ANN, session="quiet", shown=())
    assert "fridge" not in silent.text
    memory.sessions.recall(ANN, on=False)
    assert "fridge" not in memory.context(question, scope=ANN).text


def test_a_repeated_answer_makes_nothing_of_the_space_ones_own(memory: MemoryEngine) -> None:
    """An assistant that says what a space holds only repeats it; a user who says it tells news."""
    space = memory.spaces.enter("home", scope=BOB, writes=True)
    memory.add(PASSWORD, scope=space, kind="fact")
    assert PASSWORD in memory.context(QUESTION, scope=ANN).text
    turns = [Turn(PASSWORD, role, session="s") for role in ("assistant", "user")]
    answer, news = [
        memory.get(receipt.id, scope=ANN) for receipt in memory.observe(turns, scope=ANN)
    ]
    assert "echo" in answer.meta
    assert "echo" not in news.meta


def test_a_deleted_space_is_gone_with_its_words(memory: MemoryEngine) -> None:
    """Its memory is erased, and the purge is proven. Another space of that name is another space."""
    tell(memory, BOB, PASSWORD)
    assert memory.spaces.delete("home", scope=ANN).proven
    for person in (ANN, BOB):
        assert memory.spaces.list(scope=person) == ()
        assert find_texts(memory, person) == []
    memory.spaces.create("home", scope=EVE)
    assert find_texts(memory, EVE) == []
    tell(memory, EVE, "The ladder is in the shed.")
    assert find_texts(memory, BOB, "Where is the ladder?") == []
    with pytest.raises(NotFoundError):
        memory.spaces.enter("home", scope=ANN)


def test_uses_count_for_the_memory_that_was_found(memory: MemoryEngine) -> None:
    """A search counts the use of a space's memory in the space, and loses no count of one's own."""
    shared_id = tell(memory, BOB, PASSWORD)
    own_id = memory.add("The Wi-Fi password of the office is on the door.", scope=ANN).id
    assert len(find_texts(memory, ANN)) == 2
    memory._components.usage.flush()
    space = memory.spaces.enter("home", scope=ANN)
    assert memory.get(shared_id, scope=space).access_count == 1
    assert memory.get(own_id, scope=ANN).access_count == 1


def test_what_came_during_a_deletion_is_not_in_the_next_space(memory: MemoryEngine) -> None:
    """A member who was let in before the space was deleted may tell it something afterwards."""
    space = memory.spaces.enter("home", scope=BOB, writes=True)
    memory.spaces.delete("home", scope=ANN)
    memory.add(PASSWORD, scope=space)
    memory.spaces.create("home", scope=EVE)
    assert find_texts(memory, EVE) == []
    assert memory.list(scope=space).records == ()


@pytest.mark.parametrize("step", ["purge", "members", "list"])
def test_a_deletion_leaves_the_next_space_of_that_name_alone(
    memory: MemoryEngine, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Another process deletes the space and makes one of the same name while a deletion is under way:
    between its purge and the removal of the members, while that is stored, or before the lists of
    the members change. The new space keeps its memories and its members.
    """
    tell(memory, BOB, PASSWORD)
    ladder = "The ladder is in the shed."
    with engrams.open(home=memory.settings.home, jobs__workers=0) as rival:
        left = [1]

        def make_another() -> None:
            left[0] -= 1
            if left[0] == 0:
                with contextlib.suppress(NotFoundError):
                    rival.spaces.delete("home", scope=ANN)
                rival.spaces.create("home", scope=ANN)
                tell(rival, ANN, ladder)

        def call_first(method: Any) -> Any:
            return lambda *values, **named: (make_another(), method(*values, **named))[1]

        def call_after(method: Any) -> Any:
            return lambda *values, **named: (method(*values, **named), make_another())[0]

        store: Any = memory._store
        registry: Any = memory._components.space_registry
        with monkeypatch.context() as patched:
            match step:
                case "purge":
                    patched.setattr(registry, "dissolve", call_first(registry.dissolve))
                case "members":
                    patched.setattr(store, "save_state", call_first(store.save_state))
                case "list":
                    patched.setattr(store, "save_state", call_after(store.save_state))
            with contextlib.suppress(ConflictError):
                memory.spaces.delete("home", scope=ANN)
        assert left[0] < 1
        assert find_texts(rival, ANN, "Where is the ladder?") == [ladder]
    with engrams.open(home=memory.settings.home, jobs__workers=0) as later:
        assert [space.name for space in later.spaces.list(scope=ANN)] == ["home"]
        assert find_texts(later, ANN, "Where is the ladder?") == [ladder]
        space = later.spaces.enter("home", scope=ANN)
        assert {record.text for record in later.list(scope=space).records} >= {ladder}
        assert PASSWORD not in find_texts(later, ANN)


def test_whoever_is_added_while_being_removed_finds_the_space(
    memory: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removal takes the space from the list of a person whom another process adds again."""
    tell(memory, ANN, PASSWORD)
    store: Any = memory._store
    save_state = store.save_state
    left = [1]

    def save_then_add(*values: Any) -> Any:
        saved = save_state(*values)
        left[0] -= 1
        if left[0] == 0:
            with engrams.open(home=memory.settings.home, jobs__workers=0) as rival:
                rival.spaces.set_role("home", "bob", "reader", scope=ANN)
        return saved

    with monkeypatch.context() as patched:
        patched.setattr(store, "save_state", save_then_add)
        memory.spaces.remove("home", "bob", scope=ANN)
    with engrams.open(home=memory.settings.home, jobs__workers=0) as later:
        assert find_texts(later, BOB) == [PASSWORD]


@pytest.mark.parametrize("reads", range(2))
def test_whoever_is_no_owner_any_more_deletes_nothing(
    memory: MemoryEngine, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """Also where the role changes between two reads of a deletion."""
    memory.spaces.set_role("home", "bob", "owner", scope=ANN)
    registry: Any = memory._components.space_registry
    space = memory.spaces.get("home", scope=BOB)
    store: Any = memory._store
    load_state = store.load_state
    left = [reads]

    def load_later(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            memory.spaces.set_role("home", "bob", "editor", scope=ANN)
        return load_state(*arguments)

    monkeypatch.setattr(store, "load_state", load_later)
    with pytest.raises((RefusedError, ConflictError)):
        registry.dissolve(space, BOB)
    monkeypatch.setattr(store, "load_state", load_state)
    assert memory.spaces.list(scope=ANN)


@pytest.mark.parametrize(
    "name", ["", " ", "../home", "a/b", "home\0", "x" * 65, "space:home", "-", "a\nb"]
)
def test_such_a_name_is_refused(memory: MemoryEngine, name: str) -> None:
    """With what a name may be; asking for it is like asking for any space that one is not in."""
    with pytest.raises(InputError, match="is no name of a space"):
        memory.spaces.create(name, scope=ANN)
    with pytest.raises(NotFoundError):
        memory.spaces.enter(name, scope=ANN)


def test_names_of_any_script_and_their_owners(memory: MemoryEngine) -> None:
    """A name is taken by whoever comes first; a space is no member of a space."""
    assert memory.spaces.create(" 家族 ", scope=BOB).name == "家族"
    with pytest.raises(ConflictError, match="There is a space"):
        memory.spaces.create("家族", scope=EVE)
    assert memory.spaces.list(scope=EVE) == ()
    with pytest.raises(InputError, match="Name a person"):
        memory.spaces.set_role("home", "space/家族", "reader", scope=ANN)
    with pytest.raises(InputError, match="no role"):
        memory.spaces.set_role("home", "eve", "boss", scope=ANN)
    with pytest.raises(InputError, match="Name a person"):
        memory.spaces.create("nested", scope=("space", "home"))


def test_another_process_sees_a_change_after_a_second(
    memory: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one process changes, another one that remembers the person's spaces sees in time."""
    registry = SpaceRegistry(memory._store, SettableClock())
    seconds = [time.monotonic()]
    monkeypatch.setattr("engrams.spaces.registry.time.monotonic", lambda: seconds[0])
    assert [space.name for space in registry.list_joined(BOB)] == ["home"]
    memory.spaces.remove("home", "bob", scope=ANN)
    seconds[0] += 0.9
    assert [space.name for space in registry.list_joined(BOB)] == ["home"]
    seconds[0] += 0.2
    assert registry.list_joined(BOB) == ()
    with pytest.raises(NotFoundError):
        registry.get("home", BOB)


@pytest.mark.parametrize("read", ["search", "context", "deliver"])
def test_a_space_learns_nothing_of_what_a_member_asks(home: Path, read: str) -> None:
    """A question that nothing answers is a gap of the person's memory alone, and no memory of the space,
    which its other members see. One that the space answers is no gap.
    """
    options = {"jobs__workers": 0, "vault__enabled": False, "delivery__mode": "sync"}
    with engrams.open(home=home, preset="graph", **options) as memory:
        memory.spaces.create("home", scope=ANN)
        tell(memory, ANN, PASSWORD)
        memory.add("The parrot eats figs.", scope=ANN)
        unanswered = "Which lawyer handles the divorce of my parents?"
        for question in (unanswered, QUESTION):
            if read == "search":
                memory.search(question, scope=ANN)
            elif read == "context":
                memory.context(question, scope=ANN)
            else:
                memory.deliver(question, scope=ANN, session="s")
        memory._components.usage.flush()
        gaps = {
            person: [
                record.text
                for record in memory.list(
                    scope=person, kinds=("gap",), statuses=("candidate", "active")
                ).records
            ]
            for person in (ANN, Scope(("space", "home")))
        }
        assert gaps == {ANN: [unanswered], Scope(("space", "home")): []}


@pytest.mark.parametrize("read", ["search", "context"])
def test_a_read_of_a_space_alone_writes_nothing_there(home: Path, read: str) -> None:
    """A reader who asks the space itself leaves no question in it."""
    options = {"jobs__workers": 0, "vault__enabled": False}
    with engrams.open(home=home, preset="graph", **options) as memory:
        memory.spaces.create("home", scope=ANN)
        memory.spaces.set_role("home", "eve", "reader", scope=ANN)
        space = memory.spaces.enter("home", scope=EVE)
        getattr(memory, read)("Which lawyer handles the divorce of my parents?", scope=space)
        memory._components.usage.flush()
        statuses = ("candidate", "active")
        assert memory.list(scope=space, kinds=("gap",), statuses=statuses).records == ()


def test_recall_in_a_space_is_each_members_own_choice(home: Path) -> None:
    """Where recall is off until somebody turns it on, whoever did is shown the spaces, too."""
    with engrams.open(home=home, preset="layers", jobs__workers=0) as memory:
        memory.spaces.create("home", scope=ANN)
        memory.spaces.set_role("home", "bob", "editor", scope=ANN)
        tell(memory, BOB, "I am allergic to walnuts.")
        question = "Who is allergic to walnuts?"
        assert memory.context(question, scope=ANN).text == ""
        memory.sessions.recall(ANN, on=True)
        assert "bob ALLERGIC_TO walnuts" in memory.context(question, scope=ANN).text
        assert memory.context(question, scope=BOB).text == ""


CARA = Scope(("user", "cara"))


@pytest.fixture
def shared(memory: MemoryEngine) -> MemoryEngine:
    """The same, with a second editor."""
    memory.spaces.set_role("home", "cara", "editor", scope=ANN)
    return memory


def is_told_over(memory: MemoryEngine, bobs: str, caras: str) -> bool:
    """Have Bob and then Cara tell the space something; True if a search shows Bob's closed or marked."""
    tell(memory, BOB, bobs)
    tell(memory, CARA, caras)
    hits = memory.search(bobs, scope=ANN, history=True).hits
    hit = next(hit for hit in hits if hit.record.text == bobs)
    return hit.status is not Status.ACTIVE or bool(hit.outdated and hit.outdated.is_told)


@pytest.mark.parametrize(
    ("bobs", "caras"),
    [
        ("The bins are collected on Monday.", "The bins are now collected on Wednesday."),
        ("The boiler man comes on Thursday at 9.", "The boiler man comes on Friday instead."),
        ("Tickets are tracked in Jira.", "Tickets are tracked in Linear now, Jira is gone."),
        ("Das Treffen ist immer mittwochs.", "Das Treffen ist ab jetzt immer dienstags."),
        ("La réunion est à 9 heures.", "La réunion est maintenant à 10 heures."),
    ],
)
def test_a_member_tells_the_change_of_a_shared_thing(
    shared: MemoryEngine, bobs: str, caras: str
) -> None:
    """Whoever of a space said it first, what begins with the same thing ends it, or casts doubt on it."""
    assert is_told_over(shared, bobs, caras)


@pytest.mark.parametrize(
    ("bobs", "caras"),
    [
        ("I use Vim.", "I switched to Emacs."),
        ("My car is a blue Fiat.", "My car is a red Opel now."),
        ("We live in Bern.", "We now live in Basel."),
        ("Mum lives in Bern.", "Mum moved to Basel."),
        ("The car of my brother is red.", "The car of my brother is blue now."),
        ("Started at Siemens.", "Left Siemens."),
        ("Vivo en Madrid.", "Ahora vivo en Roma."),
        ("住在巴黎。", "现在住在罗马。"),
        ("ローマに住んでいます。", "今はミラノに住んでいます。"),
        ("The Wi-Fi password is on the fridge.", "The Netflix password has changed."),
    ],
)
def test_what_a_member_says_of_their_own_ends_nothing_of_another(
    shared: MemoryEngine, bobs: str, caras: str
) -> None:
    """Each member has a life, a family and a car: a change in one is none in another's."""
    assert not is_told_over(shared, bobs, caras)
