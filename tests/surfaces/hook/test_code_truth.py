"""What an agent is given agrees with the code: memories name files and symbols, and code changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engrams
from engrams.program.main import main
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event

PAY = "MAX_RETRIES = 5\n\n\ndef charge(amount, currency):\n    return amount\n\n\ndef refund(amount):\n    return -amount\n"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def commit(folder: Path, title: str = "work") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", title)


class Agent:
    """Hook and commands of one home, called in a checkout."""

    def __init__(self, home: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self._home = home
        self._capsys = capsys
        self.folder = folder
        self._session = 0

    def send(self, name: str, folder: Path | None = None, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": f"s{self._session}", **values}
        event = parse_event(json.dumps({**body, "cwd": str(folder or self.folder)}).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def say(self, *sentences: str) -> None:
        """Say sentences in a session that ends."""
        self._session += 1
        for sentence in sentences:
            self.send("UserPromptSubmit", prompt=sentence)
        self.send("Stop", last_assistant_message="Understood.")

    def ask(self, prompt: str, folder: Path | None = None) -> str:
        self._session += 1
        return self.send("UserPromptSubmit", folder, prompt=prompt)

    def verify(self, *arguments: str) -> dict[str, dict[str, str]]:
        """Return the states of memories, by their text."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            self._capsys.readouterr()
            options = ("--home", str(self._home), "--user", "ann", "--json")
            assert main(["verify", *options, *arguments]) == 0
        finally:
            os.chdir(before)
        return {memory["text"]: memory for memory in json.loads(self._capsys.readouterr().out)}


@pytest.fixture
def agent(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Agent:
    home.mkdir(parents=True, exist_ok=True)
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "pay.py").write_text(PAY, "utf-8")
    (folder / "package.json").write_text('{"scripts": {"build": "vite build"}}', "utf-8")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return Agent(home, folder, capsys)


CHARGE = "The function `charge` in src/pay.py takes `currency`."
RETRIES = "MAX_RETRIES in src/pay.py is 5."


def test_what_the_code_no_longer_has_is_not_told(agent: Agent) -> None:
    """A memory is given while the code agrees. Once its function is gone it is not, and `verify`
    says why.
    """
    agent.say(CHARGE)
    question = "What does the function charge in src/pay.py take?"
    assert "currency" in agent.ask(question)
    assert agent.verify("--all")[CHARGE]["state"] == "fresh"
    pay = agent.folder / "src" / "pay.py"
    pay.write_text(PAY.replace("charge", "collect"), "utf-8")
    assert "takes `currency`" not in agent.ask(question)
    memory = agent.verify()[CHARGE]
    assert memory["state"] == "drifted"
    assert memory["note"] == "src/pay.py no longer has `charge`"


def test_a_changed_argument_or_value_is_drift(agent: Agent) -> None:
    """The function is still there, without the argument; the constant with another value."""
    agent.say(CHARGE, RETRIES)
    text = PAY.replace(", currency", "").replace("= 5", "= 7")
    (agent.folder / "src" / "pay.py").write_text(text, "utf-8")
    notes = {text: memory["note"] for text, memory in agent.verify().items()}
    assert notes[CHARGE] == "`charge` in src/pay.py no longer takes `currency`"
    assert notes[RETRIES] == "`MAX_RETRIES` in src/pay.py is now 7"
    assert "is 5" not in agent.ask("What is MAX_RETRIES in src/pay.py?")


def test_other_edits_change_nothing(agent: Agent) -> None:
    """Lines that a memory does not name may change as they like."""
    agent.say(CHARGE, RETRIES)
    text = "# money\nimport os\n" + PAY.replace("return amount", "return round(amount, 2)")
    (agent.folder / "src" / "pay.py").write_text(text, "utf-8")
    commit(agent.folder)
    assert {memory["state"] for memory in agent.verify("--all").values()} == {"fresh"}
    assert "is 5" in agent.ask("What is MAX_RETRIES in src/pay.py?")


def test_a_moved_file_is_followed(agent: Agent) -> None:
    """A memory of a renamed file is given with the new path, also where it was edited meanwhile."""
    agent.say(RETRIES)
    (agent.folder / "billing").mkdir()
    git(agent.folder, "mv", "src/pay.py", "billing/payments.py")
    moved = agent.folder / "billing" / "payments.py"
    moved.write_text(PAY + "\n\ndef void():\n    return 0\n", "utf-8")
    commit(agent.folder)
    given = agent.ask("What is MAX_RETRIES in src/pay.py?")
    assert "is 5" in given and "now in billing/payments.py" in given
    assert agent.verify()[RETRIES]["state"] == "moved"


def test_a_file_of_another_branch(agent: Agent) -> None:
    """What was said on a branch is not told as true on another, and is again on the first."""
    git(agent.folder, "checkout", "-q", "-b", "feature/tax")
    (agent.folder / "src" / "tax.py").write_text("TAX_RATE = 19\n", "utf-8")
    commit(agent.folder)
    fact = "TAX_RATE in src/tax.py is 19."
    agent.say(fact)
    git(agent.folder, "checkout", "-q", "main")
    assert "is 19" not in agent.ask("What is TAX_RATE in src/tax.py?")
    memory = agent.verify()[fact]
    assert memory["state"] == "branch"
    assert "feature/tax" in memory["note"]
    git(agent.folder, "checkout", "-q", "feature/tax")
    assert "is 19" in agent.ask("What is TAX_RATE in src/tax.py?")


def test_each_worktree_has_its_own_truth(agent: Agent, tmp_path: Path) -> None:
    """One memory serves all worktrees; each compares it with its own files."""
    agent.say(RETRIES)
    other = tmp_path / "hotfix"
    git(agent.folder, "worktree", "add", "-q", "-b", "hotfix", str(other))
    (other / "src" / "pay.py").write_text(PAY.replace("= 5", "= 9"), "utf-8")
    question = "What is MAX_RETRIES in src/pay.py?"
    assert "is 5" not in agent.ask(question, other)
    assert "is 5" in agent.ask(question)


def test_a_rule_stays_and_says_what_is_gone(agent: Agent) -> None:
    """A rule about a folder that is gone is still a rule, and its line says so."""
    (agent.folder / "generated").mkdir()
    (agent.folder / "generated" / "api.py").write_text("A = 1\n", "utf-8")
    agent.say("Never touch `generated/api.py`, run `make api` instead.")
    assert "is gone" not in agent.send("SessionStart")
    (agent.folder / "generated" / "api.py").unlink()
    agent.say("Now the build.")
    start = agent.send("SessionStart")
    assert "generated/api.py" in start and "generated/api.py is gone" in start


def test_a_commit_says_which_memories_it_breaks(agent: Agent) -> None:
    """`verify --commit HEAD` lists what held before the commit and does not now, and nothing else."""
    script = "The script `build` in package.json runs vite build."
    agent.say(CHARGE, script)
    (agent.folder / "package.json").write_text('{"scripts": {"bundle": "vite build"}}', "utf-8")
    commit(agent.folder, "rename the script")
    broken = agent.verify("--commit", "HEAD")
    assert list(broken) == [script]
    assert broken[script]["note"] == "package.json no longer defines `build`"
    (agent.folder / "README.md").write_text("shop\n", "utf-8")
    commit(agent.folder, "docs")
    assert agent.verify("--commit", "HEAD") == {}


def test_a_git_hook_tells_it_after_the_commit(
    agent: Agent, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`engrams install git` adds the call to the repository's own hook, keeps that, and takes it out."""
    agent.say(CHARGE)
    program = Path(sys.executable).with_name("engrams")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    hook = agent.folder / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho own hook\n", "utf-8")
    options = ("--home", str(home), "--user", "ann", "--folder", str(agent.folder), "--yes")
    assert main(["install", "git", *options]) == 0
    assert main(["install", "git", *options]) == 0
    (agent.folder / "src" / "pay.py").write_text("def pay():\n    return 0\n", "utf-8")
    git(agent.folder, "add", "-A")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    printed = subprocess.run(
        ["git", *identity, "commit", "-q", "-m", "pay"],
        cwd=agent.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = printed.stdout + printed.stderr
    assert "own hook" in shown
    assert shown.count("src/pay.py no longer has `charge`") >= 1
    assert main(["install", "git", "--undo", *options]) == 0
    assert hook.read_text("utf-8") == "#!/bin/sh\necho own hook\n"
    hook.write_text("#!/usr/bin/env python3\nprint('own')\n", "utf-8")
    assert main(["install", "git", *options]) != 0
    assert "is no shell script" in capsys.readouterr().err


def test_the_garden_doubts_what_the_code_contradicts(agent: Agent, home: Path) -> None:
    """A cycle halves the confidence of such a statement once, with the reason, and of no other."""
    agent.say("Now the build.")
    with engrams.open(home=str(home), user="ann", jobs__workers=0) as engine:
        scope = ("user", "ann", "project", "shop")
        for text in (RETRIES, "The function `refund` is in src/pay.py."):
            engine.add(text, scope=scope, checkout=agent.folder)
        assert engine.garden.plan(("user", "ann"), jobs=("verify",)).steps == ()
        (agent.folder / "src" / "pay.py").write_text(PAY.replace("= 5", "= 7"), "utf-8")
        steps = engine.garden.plan(("user", "ann"), jobs=("verify",)).steps
        assert steps and all(RETRIES in step.texts for step in steps)
        assert {step.reason for step in steps} == {"`MAX_RETRIES` in src/pay.py is now 7"}
        engine.garden.run(("user", "ann"), jobs=("verify",))
        assert engine.garden.plan(("user", "ann"), jobs=("verify",)).steps == ()
