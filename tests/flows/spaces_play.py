"""Random calls of members, readers and strangers of spaces: `python -m tests.flows.spaces_play CALLS [SEED] [postgres]`.

Six people ask one server over REST and MCP, while roles change, also during a call. All that is told to a space
carries a word of that space, and each person's own memory a word of that person. No answer may hold the word of
what its caller may not read, and no call may change a space in which its caller has not the role. A play that fails
prints its seed and the call.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import httpx2
from mcp import Client
from tests.store import postgres
from tests.surfaces.http.running import list_operations
from tests.surfaces.mcp.test_tenants import filled

from engrams.admin import open_keys
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.ports import SPACE_MEMBERS
from engrams.program.registry import MCP_PROFILES, create_app, create_mcp_server
from engrams.spaces import SpaceRole
from engrams.testing import SettableClock, temp_engine

PEOPLE = ("ann", "bob", "rita", "eve", "max", "zoe")
SPACES = ("home", "team", "trip", "club")
THINGS = ("ladder", "kettle", "router", "bicycle", "parrot", "ferry")
PLACES = ("cellar", "attic", "shed", "harbour", "kitchen")
SERVER = {
    "serve__require_keys": "always",
    "serve__rate_limit": 0,
    "serve__workers": 2,
    "jobs__workers": 0,
    "vault__enabled": False,
}
_ROUND = 1000
_SECONDS = 120
"""Time that a call may take on a busy machine."""
_MCP_SHARE = 0.25
_MOUNT_SHARE = 0.1
"""Share of the calls over MCP that go by the server's address, and not by a client in this process."""
_CHANGES = {"add": 10, "remove": 4, "leave": 1, "create": 1, "delete": 0.5}
"""Changes of members, and how often each is tried."""
_MCP_HEADERS = {"accept": "application/json, text/event-stream"}
_ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
Roles = Mapping[str, SpaceRole]
_RANKS = {SpaceRole.READER: 1, SpaceRole.EDITOR: 2, SpaceRole.OWNER: 3}


class LeakError(AssertionError):
    """An answer held what its caller may not read, or a call changed what its caller may not change."""


def may(roles: Roles, person: str, role: SpaceRole) -> bool:
    """Return True for a person with at least a role; worked out apart from the code that is played."""
    return person in roles and _RANKS[roles[person]] >= _RANKS[role]


@dataclass
class Shared:
    """A space, as the play knows it from the store."""

    name: str
    word: str
    """In all that was told to it."""
    roles: Roles = field(default_factory=dict)
    change: int = 0

    @property
    def scope(self) -> Scope:
        return Scope(("space", self.name))

    def allows(self, person: str, role: SpaceRole) -> bool:
        return may(self.roles, person, role)


@dataclass(frozen=True)
class Call:
    """One call to make: over REST, or of a tool."""

    person: str
    name: str
    """Method and path, or the profile and the tool."""
    arguments: Mapping[str, Any]
    is_rest: bool = True


class SpacesPlay:
    """Calls of one server, each checked."""

    def __init__(self, engine: MemoryEngine, seed: int) -> None:
        self._engine = engine
        self._chance = random.Random(seed)
        self._words = (f"quix{number}otry" for number in range(10**9))
        self._spaces = {name: Shared(name, next(self._words)) for name in SPACES}
        self._own_words = {person: next(self._words) for person in PEOPLE}
        self._gone_words: list[str] = []
        """Words of deleted spaces."""
        self._ids: list[str] = []
        """Ids of memories of anybody, the latest ones."""
        self._operations = [
            (method, path)
            for method, path in sorted(list_operations())
            if path.startswith(("/v1/", "/v2/", "/v3/", "/api/"))
            and "chat" not in path
            and not path.startswith(("/v1/place", "/v1/sync", "/v1/settings", "/v1/safety"))
        ]
        self._http: dict[str, httpx2.AsyncClient] = {}
        self._tools: dict[tuple[str, str], Client] = {}
        self._schemas: dict[tuple[str, str], Any] = {}
        self.counts: Counter[str] = Counter()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Start the server in this process, with a key and an MCP client of each person."""
        keys = open_keys(self._engine.settings, self._engine.store)
        app = create_app(self._engine, self._engine.settings)
        async with app.router.lifespan_context(app), AsyncExitStack() as stack:
            for person in PEOPLE:
                owner = Scope(("user", person))
                secret = keys.add("play", owner, ("read", "write"), self._engine.now())[1]
                client = httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=app),
                    base_url="http://127.0.0.1",
                    headers={"authorization": f"Bearer {secret}"},
                )
                self._http[person] = await stack.enter_async_context(client)
                for profile in MCP_PROFILES:
                    server = create_mcp_server(self._engine, owner, profile)
                    tools = await stack.enter_async_context(Client(server))
                    self._tools[person, profile] = tools
                    for tool in (await tools.list_tools()).tools:
                        self._schemas[profile, tool.name] = tool.input_schema
            yield

    async def run(self, calls: int) -> None:
        """Make so many calls. LeakError: one was answered or did what it may not."""
        for number in range(calls):
            if number % 20 == 0:
                await self._fill_spaces()
                self._engine.drain(30)
                self._read_spaces()
            before = {name: replace(space) for name, space in self._spaces.items()}
            gone_words = self._gone_words[-50:]
            call = self._choose()
            if self._chance.random() < 0.03:
                # Somebody's role changes while it runs.
                other = self._choose_member_change(self._chance.choice(PEOPLE))
                answer, _ = await asyncio.gather(self._make(call), self._make(other))
                callers = (call.person, other.person)
            else:
                answer = await self._make(call)
                callers = (call.person,)
            self._read_spaces()
            self._check_answer(call, answer, before)
            self._check_gone(call, answer, gone_words)
            self._check_changes(call, callers, before)
            self._ids = [*self._ids, *_ID.findall(answer)[:3]][-200:]

    async def _fill_spaces(self) -> None:
        """Give every space an owner and memories, and every person a memory."""
        self._read_spaces()
        for name, space in self._spaces.items():
            if space.roles:
                continue
            people = self._chance.sample(PEOPLE, 4)
            await self._make(Call(people[0], "POST /v1/spaces", {"json": {"name": name}}))
            for person, role in zip(people[1:], SpaceRole, strict=True):
                path = f"PUT /v1/spaces/{name}/members/{person}"
                await self._make(Call(people[0], path, {"json": {"role": role}}))
            self._read_spaces()
            await self._tell(people[0], name, 4)
        for person in PEOPLE:
            if self._chance.random() < 0.1:
                await self._tell(person, "", 1)

    async def _tell(self, person: str, name: str, count: int) -> None:
        for _ in range(count):
            told = {"json": {"text": self._say(person, name)}, **self._choose_place(name)}
            answer = await self._make(Call(person, "POST /v1/memories", told))
            self._ids += _ID.findall(answer)

    # ----------------------------------------------------------------------------------------------
    # calls

    def _choose(self) -> Call:
        person = self._chance.choice(PEOPLE)
        kind = self._chance.random()
        if kind < _MCP_SHARE:
            return self._choose_tool(person)
        if kind < _MCP_SHARE + 0.12:
            return self._choose_member_change(person)
        if kind < _MCP_SHARE + 0.3:
            return self._choose_any_operation(person)
        return self._choose_operation(person)

    def _choose_member_change(self, person: str) -> Call:
        name = self._chance.choice(SPACES)
        other = self._chance.choice(PEOPLE)
        owners = [each for each in PEOPLE if self._spaces[name].allows(each, SpaceRole.OWNER)]
        if owners and self._chance.random() < 0.6:
            person = self._chance.choice(owners)
        path = f"/v1/spaces/{name}/members/{other}"
        match self._chance.choices(list(_CHANGES), [*_CHANGES.values()])[0]:
            case "add":
                role = str(self._chance.choice(list(SpaceRole)))
                return Call(person, f"PUT {path}", {"json": {"role": role}})
            case "remove":
                return Call(person, f"DELETE {path}", {})
            case "leave":
                return Call(person, f"DELETE /v1/spaces/{name}/members/{person}", {})
            case "create":
                return Call(person, "POST /v1/spaces", {"json": {"name": name}})
            case _:
                return Call(person, f"DELETE /v1/spaces/{name}", {})

    def _choose_operation(self, person: str) -> Call:
        name = self._chance.choice(SPACES) if self._chance.random() < 0.7 else ""
        place = self._choose_place(name)
        found = {"query": self._ask(), **({} if self._chance.random() < 0.7 else {"limit": 50})}
        memory = self._choose_id()
        told = {"text": self._say(person, name)}
        rest = [
            ("POST /v1/search", found),
            ("POST /v1/search", found),
            ("POST /v1/context", found),
            ("POST /v1/explain", {"id": memory, "query": self._ask()}),
            ("GET /v1/memories", None),
            (f"GET /v1/memories/{memory}", None),
            (f"GET /v1/memories/{memory}/history", None),
            ("GET /v1/export", None),
            ("GET /v1/graph", None),
            ("GET /v1/notebook", None),
            ("GET /v1/timeline", None),
            ("GET /v1/documents", None),
            ("GET /v1/sessions", None),
            ("GET /v1/audit", None),
            (f"GET /v1/spaces/{name or 'home'}", None),
            ("GET /v1/spaces", None),
            ("POST /v1/memories", told),
            ("POST /v1/memories", told),
            ("POST /v1/memories", told),
            (f"PATCH /v1/memories/{memory}", told),
            (f"DELETE /v1/memories/{memory}", None),
            (f"POST /v1/memories/{memory}/restore", None),
            ("POST /v1/purge", {"ids": [memory]}),
            ("POST /v1/used", {"ids": [memory]}),
            ("POST /v1/preview", {"ids": [memory], "change": "forget"}),
            ("POST /v1/purge/about", {"about": self._ask()}),
        ]
        operation, body = self._chance.choice(rest)
        if "/v1/spaces" in operation:
            place = {}
        return Call(person, operation, place if body is None else {**place, "json": body})

    def _choose_any_operation(self, person: str) -> Call:
        """Choose any operation of the server, with ids, names and texts where they may go."""
        method, path = self._chance.choice(self._operations)
        name = self._chance.choice(SPACES) if self._chance.random() < 0.7 else ""
        for parameter in re.findall(r"{\w+}", path):
            value = name or "home" if parameter == "{name}" else self._choose_id()
            path = path.replace(parameter, value)
        memory = self._choose_id()
        body = {
            "query": self._ask(),
            "text": self._say(person, name),
            "ids": [memory],
            "id": memory,
            "user_id": self._chance.choice((*PEOPLE, name or "home", f"space/{name}")),
        }
        body = {key: value for key, value in body.items() if self._chance.random() < 0.6}
        content = {} if method == "GET" else {"json": body}
        return Call(person, f"{method} {path}", {**self._choose_place(name), **content})

    def _choose_tool(self, person: str) -> Call:
        profile, tool = self._chance.choice([*self._schemas])
        schema = self._schemas[profile, tool]
        name = self._chance.choice(SPACES)
        properties = schema.get("properties", {})
        wanted = schema.get("required", []) if self._chance.random() < 0.7 else list(properties)
        values = (self._choose_id(), name, f"space/{name}", self._ask())
        arguments = {
            key: filled(properties[key], schema.get("$defs", {}), self._chance.choice(values))
            for key in wanted
        }
        known = {
            "query": self._ask(),
            "q": self._ask(),
            "id": self._choose_id(),
            "text": self._say(person, name),
            "space": name,
            "limit": 20,
            "messages": None,
        }
        for key in set(properties) & set(known):
            if key in wanted or self._chance.random() < 0.6:
                arguments[key] = known[key]
        if "text" in arguments and "space" not in arguments:
            # It goes to the person's own memory.
            arguments["text"] = self._say(person, "")
        return Call(person, f"{profile} {tool}", arguments, is_rest=False)

    def _choose_place(self, name: str) -> dict[str, Any]:
        if not name:
            return {}
        if self._chance.random() < 0.5:
            return {"params": {"space": name}}
        return {"headers": {"X-Engrams-Space": name}}

    def _choose_id(self) -> str:
        return self._chance.choice(self._ids) if self._ids else "01kjkb3q0053b2dnvc4zs2csdt"

    def _ask(self) -> str:
        return f"Where is the {self._chance.choice(THINGS)} of the {self._chance.choice(PLACES)}?"

    def _say(self, person: str, name: str) -> str:
        """Make a text with the word of the space; of a stranger of the space, with the person's own."""
        space = self._spaces.get(name)
        may_read = space is not None and space.allows(person, SpaceRole.READER)
        word = space.word if space is not None and may_read else self._own_words[person]
        thing, place = self._chance.choice(THINGS), self._chance.choice(PLACES)
        return f"The {thing} {word} {self._chance.randrange(500)} is in the {place}."

    async def _make(self, call: Call) -> str:
        """Make a call; return all that it was answered."""
        try:
            return await asyncio.wait_for(self._send(call), _SECONDS)
        except TimeoutError:
            raise LeakError(f"{call} was not answered.") from None

    async def _send(self, call: Call) -> str:
        if call.is_rest:
            method, _, path = call.name.partition(" ")
            answer = await self._http[call.person].request(method, path, **call.arguments)
            self.counts[f"REST {answer.status_code // 100}xx"] += 1
            if answer.status_code >= 500 and answer.status_code != 501:
                raise LeakError(f"{call} failed: {answer.text[:2000]}")
            return answer.text
        profile, _, tool = call.name.partition(" ")
        if self._chance.random() < _MOUNT_SHARE:
            parameters = {"name": tool, "arguments": call.arguments}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
            answer = await self._http[call.person].post(
                f"/mcp/{profile}", json=body, headers=_MCP_HEADERS
            )
            self.counts["MCP by address"] += 1
            return answer.text
        done = await self._tools[call.person, profile].call_tool(tool, dict(call.arguments))
        self.counts["MCP refused" if done.is_error else "MCP done"] += 1
        return done.model_dump_json()

    # ----------------------------------------------------------------------------------------------
    # what must hold

    def _read_spaces(self) -> None:
        """Read from the store who is in which space, and how often each was changed."""
        store = self._engine.store
        for space in self._spaces.values():
            members = store.load_state(space.scope, SPACE_MEMBERS).data.get("members", {})
            roles = {
                Scope.parse(key).labels[-1]: SpaceRole(member["role"])
                for key, member in members.items()
            }
            if space.roles and not roles:
                self._gone_words.append(space.word)
                space.word = next(self._words)
            space.roles = roles
            space.change = store.find_change(space.scope, 0)

    def _check_answer(self, call: Call, answer: str, before: Mapping[str, Shared]) -> None:
        sent = str(call.arguments)
        for person, word in self._own_words.items():
            if person != call.person and word in answer:
                raise LeakError(f"{call} shows what is {person}'s own: {answer[:3000]}")
        for name, space in self._spaces.items():
            is_member = call.person in before[name].roles or call.person in space.roles
            # A space that was deleted while the call ran had another word before.
            words = {before[name].word, space.word}
            if not any(word in answer for word in words):
                continue
            if not is_member and not any(word in sent for word in words):
                raise LeakError(f"{call} shows what is in {name}: {answer[:3000]}")
            self.counts["shown to members"] += is_member

    def _check_gone(self, call: Call, answer: str, gone_words: Iterable[str]) -> None:
        """Look for words of spaces that were deleted before the call."""
        sent = str(call.arguments)
        for word in gone_words:
            if word in answer and word not in sent and not _may_hold_echo(call):
                raise LeakError(f"{call} shows what was in a deleted space: {answer[:3000]}")

    def _check_changes(
        self, call: Call, callers: tuple[str, ...], before: Mapping[str, Shared]
    ) -> None:
        for name, earlier in before.items():
            roles = earlier.roles
            space = self._spaces[name]
            if space.roles != roles:
                self.counts["changes of members"] += 1
                self._check_members(call, callers, roles, space.roles)
            if space.change != earlier.change:
                self.counts["changes of spaces"] += 1
                may_write = any(
                    may(roles, person, SpaceRole.EDITOR) or space.allows(person, SpaceRole.EDITOR)
                    for person in callers
                )
                if not may_write:
                    raise LeakError(f"{call} changed {name}, whose roles are {dict(roles)}")

    def _check_members(
        self, call: Call, callers: tuple[str, ...], before: Roles, after: Roles
    ) -> None:
        is_new = not before and list(after.values()) == [SpaceRole.OWNER]
        is_left = [person for person in before if before[person] != after.get(person)]
        by_owner = any(before.get(person) is SpaceRole.OWNER for person in callers)
        if is_new and set(after) <= set(callers):
            return
        leaves = set(is_left) <= set(callers) and not set(after) - set(before)
        if not by_owner and not leaves:
            raise LeakError(f"{call} changed the members from {dict(before)} to {dict(after)}")
        if after and SpaceRole.OWNER not in after.values():
            raise LeakError(f"After {call} nobody owns the space: {dict(after)}")


def _may_hold_echo(call: Call) -> bool:
    """Return True for a log of what the caller wrote."""
    return "audit" in call.name


async def play(calls: int, seed: int, **settings: Any) -> Counter[str]:
    """Make calls of a fresh server; return what was counted. LeakError: something leaked."""
    clock = SettableClock(datetime(2026, 3, 1, tzinfo=UTC))
    with temp_engine(clock=clock, **SERVER, **settings) as engine:
        spaces_play = SpacesPlay(engine, seed)
        problem = None
        async with spaces_play.connect():
            try:
                await spaces_play.run(calls)
            except LeakError as error:
                # Raised in here, it would come wrapped by the clients' groups of tasks.
                problem = error
        if problem is not None:
            raise problem
        return spaces_play.counts


def main(calls: int, seed: int, *, on_postgres: bool) -> int:
    """Play rounds of a thousand calls, each with a fresh memory; return 1 where one failed."""
    total: Counter[str] = Counter()
    for done in range(0, calls, _ROUND):
        settings = {"store__url": postgres.empty_database()} if on_postgres else {}
        start = time.monotonic()
        try:
            total += asyncio.run(play(min(calls - done, _ROUND), seed, **settings))
        except LeakError as error:
            print(f"seed {seed}: {error}", flush=True)
            return 1
        seed += 1
        print(f"next seed {seed}, {time.monotonic() - start:.0f} s: {dict(total)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(
        main(
            int(sys.argv[1]),
            int(sys.argv[2]) if len(sys.argv) > 2 else 0,
            on_postgres="postgres" in sys.argv[3:],
        )
    )
