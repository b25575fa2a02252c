"""One project is one project: worktrees, clones, renamed folders and repositories of one name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import engrams
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event
from engrams.surfaces.hook.sentences_about_user import find_sentences_about_user

RULE = "Use pnpm, not npm."


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True
    )


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


class Agent:
    """Hook of one home, called with the folders of several agents."""

    def __init__(self, home: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self._session = 0

    def send(self, name: str, folder: Path, *, field: str = "cwd", **values: str) -> str:
        self._session += 1
        where = [str(folder)] if field == "workspace_roots" else str(folder)
        body = {"hook_event_name": name, "session_id": f"s{self._session}", field: where, **values}
        event = parse_event(json.dumps(body).encode())
        assert event is not None
        return answer_event(self._call, event)

    def say(self, folder: Path, prompt: str) -> None:
        self.send("UserPromptSubmit", folder, prompt=prompt)
        self.send("Stop", folder, last_assistant_message="Understood.")

    def begin(self, folder: Path, field: str = "cwd") -> str:
        return self.send("SessionStart", folder, field=field)


@pytest.fixture
def agent(home: Path) -> Agent:
    home.mkdir(parents=True, exist_ok=True)
    return Agent(home)


@pytest.mark.parametrize("field", ["cwd", "workspace_roots"])
def test_worktrees_clones_and_renamed_folders_are_their_project(
    agent: Agent, tmp_path: Path, field: str
) -> None:
    """What was said in the main checkout is known in each of them, and another project's is not."""
    remote = "git@github.com:acme/shopfront.git"
    main = repository(tmp_path / "a" / "shopfront", remote)
    agent.say(main, RULE)
    git(main, "worktree", "add", "-q", str(tmp_path / "fix-login"))
    git(main, "worktree", "add", "-q", str(main / ".claude" / "worktrees" / "fix-123"))
    clone = repository(tmp_path / "b" / "my-clone", "https://github.com/acme/shopfront")
    (main / "src").mkdir()
    for folder in (tmp_path / "fix-login", main / ".claude/worktrees/fix-123", clone, main / "src"):
        assert "pnpm" in agent.begin(folder, field), folder
    renamed = main.rename(tmp_path / "a" / "storefront")
    assert "pnpm" in agent.begin(renamed, field)
    other = repository(tmp_path / "c" / "shopfront", "git@github.com:other/shopfront.git")
    assert agent.begin(other, field) == ""


def test_a_repository_without_remotes(agent: Agent, tmp_path: Path) -> None:
    """Two folders called api are two projects; a renamed one and a local clone stay the same."""
    first = repository(tmp_path / "a" / "api")
    second = repository(tmp_path / "b" / "api")
    agent.say(first, RULE)
    agent.say(second, "Use uv, not pip.")
    assert "pnpm" in agent.begin(first) and "uv" not in agent.begin(first)
    assert "uv" in agent.begin(second) and "pnpm" not in agent.begin(second)
    subprocess.run(
        ["git", "clone", "-q", str(first), str(tmp_path / "work")], check=True, capture_output=True
    )
    assert "pnpm" in agent.begin(tmp_path / "work")
    renamed = first.rename(tmp_path / "a" / "service")
    assert "pnpm" in agent.begin(renamed)
    git(renamed, "remote", "add", "origin", "git@github.com:acme/service.git")
    assert "pnpm" in agent.begin(renamed)


@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("is_new_first", [True, False])
def test_a_renamed_folder_whose_place_was_taken(
    agent: Agent, tmp_path: Path, is_repository: bool, is_new_first: bool
) -> None:
    """The renamed folder keeps its memory, and the new one at its old place begins with none."""
    folder = repository(tmp_path / "api") if is_repository else tmp_path / "api"
    folder.mkdir(exist_ok=True)
    agent.say(folder, RULE)
    renamed = folder.rename(tmp_path / "service")
    if is_repository:
        repository(folder)
    folder.mkdir(exist_ok=True)
    looks = [(renamed, True), (folder, False)]
    for looked_at, is_known in reversed(looks) if is_new_first else looks:
        assert ("pnpm" in agent.begin(looked_at)) is is_known, looked_at


def test_a_new_folder_inherits_nothing_from_a_removed_one(
    agent: Agent, tmp_path: Path, home: Path
) -> None:
    """File systems give the number of a removed folder to the next one, which is younger."""
    removed, folder = tmp_path / "first", tmp_path / "second"
    removed.mkdir()
    agent.say(removed, RULE)
    removed.rmdir()
    folder.mkdir()
    (names,) = json.loads((home / "projects.json").read_text("utf-8"))["projects"]
    birth = names["inode"].rpartition(":")[2]
    names["inode"] = f"{folder.stat().st_dev}:{folder.stat().st_ino}:{birth}"
    (home / "projects.json").write_text(json.dumps({"projects": [names]}), "utf-8")
    assert agent.begin(folder) == ""


def test_a_link_to_a_folder_is_that_folder(agent: Agent, tmp_path: Path) -> None:
    """With Git, without it, and into a folder of a repository."""
    plain = tmp_path / "real" / "notes"
    plain.mkdir(parents=True)
    local = repository(tmp_path / "real" / "api")
    (local / "src").mkdir()
    for folder, other in ((plain, plain), (local, local), (local / "src", local)):
        link = tmp_path / f"link-{folder.name}"
        link.symlink_to(folder, target_is_directory=True)
        rule = f"Use {folder.name}tool, not npm."
        agent.say(link, rule)
        assert f"{folder.name}tool" in agent.begin(other), folder
        assert f"{folder.name}tool" in agent.begin(link), folder
    assert "notestool" not in agent.begin(local)


def test_what_a_clone_of_a_folder_was_told_first_is_known_in_the_folder(
    agent: Agent, tmp_path: Path
) -> None:
    """A submodule or a clone of a folder may be worked in before the folder itself."""
    origin = repository(tmp_path / "lib", "git@github.com:acme/lib.git")
    parent = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    git(parent, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "lib")
    agent.say(parent / "lib", RULE)
    assert "pnpm" in agent.begin(origin)
    assert "pnpm" not in agent.begin(parent)


def test_a_project_may_be_given_its_name(agent: Agent, tmp_path: Path, home: Path) -> None:
    """`git config engrams.project` names a project for everything that asks for the folder's."""
    folder = repository(tmp_path / "api")
    git(folder, "config", "engrams.project", "billing")
    agent.say(folder, RULE)
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        records = engine.list(scope=("user", "ann", "project", "billing")).records
    assert RULE in [record.text for record in records]


@pytest.mark.slow
def test_commands_mean_the_same_project(agent: Agent, tmp_path: Path, home: Path) -> None:
    """`engrams list --project .` in the second of two folders of one name lists its memories."""
    agent.say(repository(tmp_path / "a" / "api"), RULE)
    second = repository(tmp_path / "b" / "api")
    agent.say(second, "Use uv, not pip.")
    start = [sys.executable, "-m", "engrams.program.entry", "list", "--json", "--project", "."]
    listed = subprocess.run(
        [*start, "--home", str(home), "--user", "ann"],
        cwd=second,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "uv, not pip" in listed and "pnpm" not in listed


def test_a_home_that_lost_its_names(agent: Agent, tmp_path: Path, home: Path) -> None:
    """Without the file of names a single project is found again by its repository's name."""
    folder = repository(tmp_path / "api")
    agent.say(folder, RULE)
    (home / "projects.json").write_text("broken", "utf-8")
    assert "pnpm" in agent.begin(folder)
    shutil.rmtree(folder / ".git")
    assert "pnpm" in agent.begin(folder)


@pytest.mark.parametrize(
    "prompt",
    [
        "Keep answers short.",
        "I prefer tabs over spaces.",
        "I'm Lena, please call me Lena. My timezone is Europe/Berlin.",
        "Please answer in German.",
        "I prefer short answers. We use pnpm in this project.",
    ],
)
def test_what_is_about_the_person_is_known_in_every_project(
    agent: Agent, tmp_path: Path, prompt: str
) -> None:
    """Tastes and the style of answers cross projects; what "we" do stays in its own."""
    first = repository(tmp_path / "a" / "shop")
    agent.say(first, prompt)
    start = agent.begin(repository(tmp_path / "b" / "ledger"))
    words = ("short", "tabs", "Lena", "German")
    assert any(word in start for word in words if word in prompt)
    assert "pnpm" not in start
    assert any(word in agent.begin(first) for word in words if word in prompt)


def test_a_time_zone_is_no_path() -> None:
    """ "Europe/Berlin" is about the person, "src/clock" about the code."""
    said = "I'm Lena, please call me Lena. My timezone is Europe/Berlin."
    assert find_sentences_about_user(said) == said
    assert find_sentences_about_user("My editor is broken in src/clock.") == ""


@pytest.mark.parametrize(
    "text",
    [
        "We use pnpm here.",
        "I'm stuck on the migration.",
        "I prefer `zod` for our schemas.",
        "Keep the commits small.",
        "No emojis in commit messages.",
        "My dog is called Rex.",
        "Do I prefer tabs?",
    ],
)
def test_what_is_about_the_code_is_not_about_the_person(text: str) -> None:
    """Neither is a mood, nor a question."""
    assert find_sentences_about_user(text) == ""


def run(home: Path, folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "engrams.program.entry",
            *arguments,
            "--home",
            str(home),
            "--user",
            "ann",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.mark.slow
def test_a_home_of_before_is_merged_with_a_preview(
    agent: Agent, tmp_path: Path, home: Path
) -> None:
    """A project that was named after a worktree is told by `engrams projects`, previewed, and moved
    into its repository's with ids and history.
    """
    main = repository(tmp_path / "shop")
    agent.say(main, RULE)
    git(main, "worktree", "add", "-q", str(tmp_path / "fix-login"))
    agent.begin(tmp_path / "fix-login")
    old = ("user", "ann", "project", "fix-login")
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        id = engine.add("Logins are throttled to 5 a minute.", scope=old, kind="rule").id
    listed = run(home, main, "projects")
    assert "engrams projects --merge fix-login --into shop" in listed
    merge = ("projects", "--merge", "fix-login", "--into", ".")
    preview = json.loads(run(home, main, *merge, "--json"))
    assert preview == {"from": "fix-login", "into": "shop", "memories": 1, "moved": False}
    assert "throttled" not in agent.begin(main)
    assert "1 memories of fix-login are in shop now" in run(home, main, *merge, "--yes")
    assert "throttled" in agent.begin(main)
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        record = engine.get(id, scope=("user", "ann"))
        assert record.scope.labels == ("user", "ann", "project", "shop")
        assert engine.search("logins throttled", scope=record.scope).hits
        assert engine.list(scope=old).records == ()
        assert [entry.reason for entry in engine.history(id, scope=record.scope)][
            -1
        ] == "moved to shop"
    assert "fix-login" not in run(home, main, "projects")


def test_what_is_about_the_person_is_labelled(agent: Agent, tmp_path: Path) -> None:
    """Where rules of the person and of the project stand together, the reader can tell them apart."""
    folder = repository(tmp_path / "shop")
    agent.say(folder, "I prefer tabs over spaces.")
    assert "personal" not in agent.begin(folder)
    agent.say(folder, RULE)
    lines = json.loads(agent.begin(folder))["hookSpecificOutput"]["additionalContext"].splitlines()
    (tabs,) = [line for line in lines if "tabs" in line and line[:1].isdigit()]
    (pnpm,) = [line for line in lines if "pnpm" in line and line[:1].isdigit()]
    assert tabs.endswith("personal)") and "personal" not in pnpm
