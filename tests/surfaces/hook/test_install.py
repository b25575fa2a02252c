"""`engrams install`:
the change is shown, made and undone, and what the agents then run answers them.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams.program.main import main
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.install import INSTALLERS
from engrams.surfaces.hook.run import HookCallOptions, answer_event

ROOT = Path(__file__).parents[3]
FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/hooks/engrams.json",
    "opencode": ".config/opencode/plugins/engrams.js",
}
REX = "My dog is called Rex and he is a greyhound."


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Install = Callable[..., Done]


@pytest.fixture
def install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Install:
    """Run the command as somebody whose home is the folder, and who has engrams in the PATH."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "ENGRAMS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(*arguments: str) -> Done:
        code = main(["install", *arguments])
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return run


@pytest.mark.parametrize("agent", FILES)
def test_install_and_undo(install: Install, tmp_path: Path, agent: str) -> None:
    """The diff is shown;
    without consent nothing changes; a second time changes nothing; undo leaves no trace.
    """
    finished = install(agent)
    file = tmp_path / FILES[agent]
    assert (
        (finished.code, file.exists()) == (4, False)
        and "--yes" in finished.err
        and "+" in finished.out
    )
    assert install(agent, "--yes").code == 0
    installed = file.read_text("utf-8")
    assert "engrams" in installed and "hook" in installed
    assert (
        "nothing to change" in install(agent, "--yes").out and file.read_text("utf-8") == installed
    )
    assert install(agent, "--undo", "--yes").code == 0
    assert not file.exists() and [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("agent", ["claude-code", "gemini", "cursor", "codex"])
def test_other_settings_stay(install: Install, tmp_path: Path, agent: str) -> None:
    """Other hooks and settings keep their place and value, in both directions;
    a link to the file stays a link.
    """
    file = tmp_path / FILES[agent]
    foreign_settings = {
        "theme": "dark",
        "hooks": {"Stop": [{"command": "beep"}], "stop": []},
        "ünïcode": [1],
    }
    (tmp_path / "real.json").write_text(
        json.dumps(foreign_settings, indent=4, ensure_ascii=False) + "\n", "utf-8"
    )
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "real.json")
    assert install(agent, "--yes").code == 0
    changed = json.loads(file.read_text("utf-8"))
    assert changed["theme"] == "dark" and {"command": "beep"} in changed["hooks"]["Stop"]
    assert install(agent, "--undo", "--yes").code == 0
    undone = json.loads(file.read_text("utf-8"))
    undone.pop("version", None)
    assert (
        undone == foreign_settings
        and file.is_symlink()
        and '\n    "theme"' in file.read_text("utf-8")
    )


@pytest.mark.parametrize(
    "text", ["{ // a comment\n}", '{"hooks": []}', '{"hooks": {"Stop": "beep"}}', "[]"]
)
def test_settings_that_cannot_be_read_stay(install: Install, tmp_path: Path, text: str) -> None:
    """A file in another form is refused with its name, and not touched."""
    file = tmp_path / FILES["gemini"]
    file.parent.mkdir()
    file.write_text(text, "utf-8")
    finished = install("gemini", "--yes")
    assert (finished.code, str(file) in finished.err, file.read_text("utf-8")) == (1, True, text)


def test_one_project(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--folder changes the project's own file, and the options go into the command.

    The file is the team's: where the program is on the PATH, no path of this machine stands in it.
    """
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin")
    finished = install(
        "claude-code",
        "--yes",
        "--folder",
        str(tmp_path),
        "--user",
        "ann lee",
        "--project",
        ".",
        "--json",
    )
    assert json.loads(finished.out)["file"] == str(tmp_path / ".claude" / "settings.json")
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    command = shlex.split(hooks["Stop"][0]["hooks"][0]["command"])
    assert command == [
        "engrams",
        "hook",
        "--resident",
        "--user",
        "ann lee",
        "--project",
        ".",
    ]


def test_projects_are_apart_unless_they_share(install: Install, tmp_path: Path) -> None:
    """Without an option each project has its own memory; --shared is one for all of them."""
    settings = tmp_path / FILES["claude-code"]
    assert install("claude-code", "--yes").code == 0
    assert commands(settings)["Stop"].endswith(" hook --resident --project .")
    assert install("claude-code", "--yes", "--shared").code == 0
    assert commands(settings)["Stop"].endswith(" hook --resident")
    assert install("claude-code", "--yes", "--shared", "--project", ".").code != 0


def commands(file: Path) -> dict[str, str]:
    """The command that an agent runs at each of its events."""
    hooks: dict[str, list[dict[str, Any]]] = json.loads(file.read_text("utf-8"))["hooks"]
    inner = {event: entries[0].get("hooks", entries)[0] for event, entries in hooks.items()}
    return {event: entry.get("command", entry.get("bash", "")) for event, entry in inner.items()}


PROMPTS = {
    "claude-code": {"hook_event_name": "UserPromptSubmit", "session_id": ""},
    "codex": {"hook_event_name": "UserPromptSubmit", "session_id": ""},
    "gemini": {"hook_event_name": "BeforeAgent", "session_id": ""},
    "cursor": {"hook_event_name": "beforeSubmitPrompt", "conversation_id": ""},
    "copilot": {"sessionId": ""},
}


@pytest.mark.parametrize("agent", PROMPTS)
def test_what_is_installed_answers(install: Install, tmp_path: Path, agent: str) -> None:
    """A prompt in the agent's own words is kept, and one of a later session gets it back in the form
    that the agent reads; its own session knows it already.
    """
    home = ("--home", str(tmp_path / "memory"))
    assert install(agent, "--yes", "--shared", *home, "--user", "ann").code == 0
    run = commands(tmp_path / FILES[agent])
    assert list(run) == list(INSTALLERS[agent].events)
    event = list(run)[1]
    words = shlex.split(run[event])
    assert words[1:7] == ["hook", "--resident", *home, "--user", "ann"]
    call = HookCallOptions(
        {"home": words[4], "user": "ann"}, event=words[8] if "--event" in words else ""
    )

    def prompt(session: str, text: str) -> str:
        fields = {key: value or session for key, value in PROMPTS[agent].items()}
        parsed = parse_event(json.dumps({**fields, "prompt": text}).encode(), call.event)
        return answer_event(call, parsed) if parsed else "no event"

    assert prompt("s1", REX) == ""
    assert prompt("s1", "What is my dog called?") == ""
    answer = json.loads(prompt("s2", "What is my dog called?"))
    match agent:
        case "cursor":
            context = answer["additional_context"]
        case "copilot":
            context = answer["additionalContext"]
        case _:
            assert answer["hookSpecificOutput"]["hookEventName"] == event
            context = answer["hookSpecificOutput"]["additionalContext"]
    assert "greyhound" in context


def test_the_plugin_is_what_is_installed(install: Install, tmp_path: Path) -> None:
    """The plugin for Claude Code has the hooks that the installer makes with --project ., so that it
    keeps projects apart, and its version is the package's.
    """
    from engrams import __version__

    plugin = ROOT / "integrations" / "claude-code"
    install("claude-code", "--yes", "--project", ".")
    settings_text = (tmp_path / FILES["claude-code"]).read_text("utf-8")
    shipped = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))
    program = shlex.quote(str(Path(sys.executable).with_name("engrams")))
    assert shipped == json.loads(settings_text.replace(program, "engrams"))
    assert (
        json.loads((plugin / ".claude-plugin" / "plugin.json").read_text("utf-8"))["version"]
        == __version__
    )
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    assert (ROOT / market["plugins"][0]["source"]) == plugin
    assert json.loads((plugin / ".mcp.json").read_text("utf-8"))["mcpServers"]["memory"] == {
        "command": "engrams",
        "args": ["mcp", "--project", "."],
    }


DRIVER = """
const { EngramsMemory } = await import(process.argv[2])
const messages = [{ info: { role: "assistant" }, parts: [{ type: "text", text: "Nice to meet Rex." }] }]
const get = async ({ path }) => ({ data: path.id === "side" ? { parentID: "s1" } : {} })
const client = { session: { get, messages: async () => ({ data: messages }) } }
const hooks = await EngramsMemory({ client, directory: "/src/alpha" })
const say = async (sessionID, text) => {
  const parts = [{ id: "prt_1", type: "text", text }]
  await hooks["chat.message"]({ sessionID }, { parts })
  const output = { system: ["base"] }
  await hooks["experimental.chat.system.transform"]({ sessionID }, output)
  return [...output.system, ...parts.slice(1).map((part) => part.id + part.text)]
}
const first = await say("s1", process.argv[3])
const side = await say("side", "You are a subagent. Decision: use MobX everywhere.")
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
const second = await say("s2", "What is my dog called?")
console.log(JSON.stringify({ first, side, second }))
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_plugin_of_opencode(install: Install, tmp_path: Path) -> None:
    """The plugin adds the profile to the system prompt and memories to the message, keeps prompts
    and answers but nothing of a subagent's session, and fails open where the command is gone.
    """
    install("opencode", "--yes", "--home", str(tmp_path / "memory"), "--user", "ann")
    plugin = tmp_path / "plugin.mjs"
    shutil.copy(tmp_path / FILES["opencode"], plugin)
    (tmp_path / "driver.mjs").write_text(DRIVER, "utf-8")
    run = ["node", str(tmp_path / "driver.mjs"), str(plugin), REX]
    transcript = json.loads(
        subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout
    )
    assert transcript["first"] == transcript["side"] == ["base"]
    assert "greyhound" in "".join(transcript["second"][1:])
    with engrams.open(home=str(tmp_path / "memory"), jobs__workers=0) as engine:
        texts = [record.text for record in engine.list(scope=("user", "ann")).records]
    assert REX in texts and not any("MobX" in text for text in texts)
    plugin.write_text(plugin.read_text("utf-8").replace("/engrams", "/gone"), "utf-8")
    assert json.loads(
        subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout
    )["second"] == ["base"]


def test_the_command_names_the_home_for_any_folder(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative home, and the one of the environment, go into the hook's command with their whole
    path; the line to undo can be pasted.
    """
    work = tmp_path / "my work"
    work.mkdir()
    monkeypatch.chdir(tmp_path)
    output = install("claude-code", "--home", "mem", "--folder", "my work", "--yes").out
    assert f"--home {tmp_path}/mem" in (work / ".claude" / "settings.json").read_text("utf-8")
    assert install(*shlex.split(output.rpartition("engrams install ")[2]), "--yes").code == 0
    assert not (work / ".claude" / "settings.json").exists()
    monkeypatch.setenv("ENGRAMS_HOME", "~/other")
    install("claude-code", "--yes")
    assert f"--home {tmp_path}/other" in (tmp_path / FILES["claude-code"]).read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        '{"theme": "dark", "env": {"A": "1"}}',
        '{\n\t"theme":"dark",\n\t"list": [1,2,\n\t\t3]\n}\n',
        '{\r\n  "theme": "dark"\r\n}\r\n',
        (
            '{ "hooks": { "Stop": [ {"hooks":[{"type":"command","command":"true"}]} ] ,'
            ' "PreToolUse":[] },  "z": "é\\u00e9" }'
        ),
        '{\n  "hooks": {"Stop": [{"command": "true"}]},\n  "model": "x"\n}',
        "{}\n",
    ],
)
@pytest.mark.parametrize("agent", ["claude-code", "gemini"])
def test_undo_restores_the_file_byte_for_byte(
    install: Install, tmp_path: Path, agent: str, text: str
) -> None:
    """However the user's settings were written, they are again after the undo;
    nothing of theirs is written anew meanwhile.
    """
    file = tmp_path / INSTALLERS[agent].home[1] / INSTALLERS[agent].user_file
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    assert install(agent, "--yes").code == 0
    hooks = json.loads(file.read_bytes())["hooks"]
    assert all("engrams" in json.dumps(hooks[event][-1]) for event in INSTALLERS[agent].events)
    assert install(agent, "--yes").out.count("nothing to change") == 1
    assert install(agent, "--undo", "--yes").code == 0
    assert text == "{}\n" or file.read_bytes().decode() == text
