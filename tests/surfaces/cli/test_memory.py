"""A life of memories on the command line, end to end against a real store."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.conftest import Run

from engrams import open as opened
from engrams.adapters.item_journal import FrameworkItem, FrameworkItemJournal, make_silent_item

HIT = {
    "id", "text", "kind", "status", "score", "valid_from", "valid_to", "recorded_at", "speaker", "scope", "session",
    "role", "external_id", "caption", "facts", "parts", "outdated", "ended_clauses",
    "probability", "helps", "code", "document",
}  # fmt: skip


def texts(done: Any) -> list[str]:
    """What a search or list found."""
    return [item["text"] for item in done.json.get("hits", done.json.get("records"))]


def test_what_was_added_is_found(engrams: Any) -> None:
    """`add` prints a receipt and the next `search` finds it, with every field of a hit and nothing
    else.
    """
    receipt = engrams("add", "The spare key is under the blue flowerpot", "--json").json
    assert receipt["outcome"] == "stored"
    assert receipt["scope"] == ["user", "ann"]
    answer = engrams("search", "where is the spare key?", "--limit", "3", "--json").json
    assert set(answer) == {"hits", "abstain", "notes"}
    assert set(answer["hits"][0]) == HIT
    assert answer["hits"][0]["id"] == receipt["id"]
    assert answer["hits"][0]["scope"] == ["user", "ann"]
    assert 0 <= answer["hits"][0]["score"] <= 1
    assert answer["abstain"] is False
    human = engrams("search", "where is the spare key?")
    assert "under the blue flowerpot" in human.out
    assert receipt["id"] in human.out


def test_another_process_and_another_user(engrams: Any, home: Path) -> None:
    """Memory outlives the process, and another user finds nothing of it."""
    engrams("add", "The wifi password hint is our first cat")
    call = [
        sys.executable,
        "-c",
        "from engrams.program.main import run; run()",
        "search",
        "wifi hint",
        "--home",
        str(home),
        "--json",
    ]
    finished = subprocess.run([*call, "--user", "ann"], capture_output=True, text=True, check=True)
    assert "first cat" in json.loads(finished.stdout)["hits"][0]["text"]
    finished = subprocess.run([*call, "--user", "bob"], capture_output=True, text=True, check=True)
    assert json.loads(finished.stdout) == {"hits": [], "abstain": True, "notes": []}


@pytest.mark.covers("S2.48")
def test_adding_many(engrams: Any, tmp_path: Path) -> None:
    """Several arguments, a file and standard input each give a list of receipts;
    an item's conversation is its scope.
    """
    assert len(engrams("add", "Ann likes tea", "Ann likes chess", "--json").json) == 2
    file = tmp_path / "facts.json"
    file.write_text(
        json.dumps(
            {
                "memories": [
                    "The car is green",
                    {"content": "The boat is red", "conversation_id": "work"},
                ]
            }
        )
    )
    receipts = engrams("add", "-f", str(file), "--json").json
    assert [receipt["scope"] for receipt in receipts] == [
        ["user", "ann"],
        ["user", "ann", "conversation", "work"],
    ]
    finished = engrams("add", "-", "--json", stdin="- The bike is blue\n2. The train is yellow\n\n")
    assert len(finished.json) == 2
    listed = texts(engrams("list", "--kind", "note", "--json"))
    assert {
        "The bike is blue",
        "The train is yellow",
        "The car is green",
        "The boat is red",
    } <= set(listed)
    broken = engrams("add", "-f", "-", "--json", stdin='["not closed')
    assert broken.code == 0
    assert '["not closed' in texts(engrams("list", "--json"))


@pytest.mark.covers("S2.49")
def test_conversations_and_silence(engrams: Any) -> None:
    """-c puts a memory into a conversation that another one does not see; -q prints nothing."""
    finished = engrams("add", "The secret plan is a picnic", "-c", "plans", "-q")
    assert (finished.code, finished.out, finished.err) == (0, "", "")
    assert texts(engrams("search", "secret plan", "-c", "plans", "--json")) == [
        "The secret plan is a picnic"
    ]
    assert texts(engrams("search", "secret plan", "-c", "other", "--json")) == []
    assert texts(engrams("search", "secret plan", "--json")) == ["The secret plan is a picnic"]


def test_one_bad_text_does_not_cost_the_others(engrams: Any) -> None:
    """Where several are added, an empty one is told and the rest is stored;
    the exit code says that something failed.
    """
    finished = engrams(
        "add", "A good one about geese", "   ", "Another good one about ducks", "--json"
    )
    assert finished.code == 1
    assert len(json.loads(finished.out)) == 2
    assert "error: The text is empty" in finished.err
    assert engrams("add", "  ").code == 1


def test_turns_with_speaker_time_and_filters(engrams: Any) -> None:
    """--speaker, --role, --session and --at describe a turn, and the same options and --where find
    it again.
    """
    engrams(
        "add",
        "I planted tomatoes",
        "--speaker",
        "Zoe",
        "--session",
        "s1",
        "--at",
        "2024-05-01T10:00",
        "--id",
        "z1",
    )
    engrams(
        "add",
        "I planted beans",
        "--speaker",
        "Yan",
        "--role",
        "assistant",
        "--session",
        "s2",
        "--at",
        "2024-06-01",
    )
    hit = engrams("search", "planted", "--speaker", "Zoe", "--json").json["hits"][0]
    assert (hit["text"], hit["kind"], hit["external_id"], hit["session"]) == (
        "I planted tomatoes",
        "turn",
        "z1",
        "s1",
    )
    assert hit["recorded_at"] == "2024-05-01T10:00:00+00:00"
    assert texts(
        engrams(
            "list",
            "--where",
            "recorded_at>=2024-05-15",
            "--where",
            "recorded_at<2024-07-01",
            "--json",
        )
    ) == ["I planted beans"]
    assert texts(engrams("list", "--role", "assistant", "--json")) == ["I planted beans"]
    assert texts(engrams("list", "--where", "text~tomatoes", "--kind", "turn", "--json")) == [
        "I planted tomatoes"
    ]
    assert engrams("list", "--where", "colour=red").code == 1


def test_facts_change_and_the_past_can_be_seen(engrams: Any) -> None:
    """A later statement replaces an earlier one;

    --as-of and --history still show the earlier one.
    """
    engrams("add", "I live in Paris", "--at", "2024-01-01")
    engrams("add", "I moved to Berlin", "--at", "2024-06-01")
    assert "Berlin" in texts(engrams("search", "where do I live?", "--json"))[0]
    past = engrams("search", "where do I live?", "--as-of", "2024-03-01", "--json")
    assert all("Berlin" not in text for text in texts(past))
    assert any("Paris" in text for text in texts(past))
    assert any(
        "Paris" in text
        for text in texts(engrams("search", "where do I live?", "--history", "--json"))
    )


def test_show_edit_and_history(engrams: Any) -> None:
    """A memory is shown by the beginning of its id, edited with its version checked, and its
    history tells the changes.
    """
    memory_id = engrams("add", "The meeting is on Monday", "--json").json["id"]
    shown = engrams("show", memory_id[:20], "--json").json
    assert shown["record"]["text"] == "The meeting is on Monday"
    version = str(shown["record"]["version"])
    edited = engrams(
        "edit",
        memory_id,
        "The meeting is on Tuesday",
        "--field",
        "tags=work,weekly",
        "--expect",
        version,
        "--reason",
        "moved",
        "--json",
    ).json
    assert (edited["text"], edited["tags"]) == ("The meeting is on Tuesday", ["work", "weekly"])
    assert engrams("edit", memory_id, "x y", "--expect", version).code == 1
    assert engrams("edit", memory_id).code == 1
    assert texts(engrams("list", "--tag", "work", "--json")) == ["The meeting is on Tuesday"]
    changes = engrams("history", memory_id, "--json").json["history"]
    assert [change["version"] for change in changes] == sorted(
        change["version"] for change in changes
    )
    assert changes[-1]["before"]["text"] == "The meeting is on Monday"
    assert changes[-1]["reason"] == "moved"
    assert (
        engrams("edit", memory_id, "-", "--json", stdin="It is on Friday now\n").json["text"]
        == "It is on Friday now"
    )
    human = engrams("show", memory_id)
    assert "The meeting is on Tuesday" in human.out
    assert "The meeting is on Monday -> The meeting is on Tuesday" in human.out
    assert "moved" in engrams("history", memory_id).out


def test_an_edited_note_says_nothing_of_before(engrams: Any) -> None:
    """The fact of an edited note follows its text:
    the next search and prompt hold the new one alone.
    """
    memory_id = engrams("add", "I live in Paris.", "--json").json["id"]
    engrams("edit", memory_id, "I live in Rome.")
    for command in ("search", "context"):
        output = engrams(command, "Where do I live?").out
        assert "live in Rome" in " ".join(output.split()) and "Paris" not in output


def test_no_edit_empties_a_memory(engrams: Any) -> None:
    """An empty or invisible new text is refused as `add` refuses it, and the memory stays as it is."""
    memory_id = engrams("add", "The word is xylophonist", "--json").json["id"]
    for text in ("", " ", "\u200b"):
        finished = engrams("edit", memory_id, text)
        assert (
            finished.code == 1
            and "The text is empty" in finished.err
            and "visible character" in finished.err
        )
    assert engrams("show", memory_id, "--json").json["record"]["text"] == "The word is xylophonist"


def test_unknown_ids_are_not_found(engrams: Any) -> None:
    """Every command that takes an id ends with 3 where there is no such memory."""
    engrams("add", "Something to have a store")
    for command in ("show", "history", "forget", "restore"):
        assert engrams(command, "01abcdefgh").code == 3
    assert engrams("edit", "01abcdefgh", "x y").code == 3
    assert engrams("purge", "01abcdefgh", "--confirm", "purge").code == 3


def test_ids_that_begin_alike_are_told_apart(engrams: Any) -> None:
    """Memories of one moment share the first characters: the error says how many tell them apart."""
    for text in ("The boat is green.", "The shed is red.", "The gate is blue."):
        engrams("add", "--at", "2026-03-02", text)
    listed = engrams("list", "--json").json["records"]
    refused = engrams("show", listed[0]["id"][:6])
    enough = int(re.search(r"Give (\d+) characters", refused.err)[1])
    for memory in listed:
        assert memory["text"] in engrams("show", memory["id"][:enough]).out


def test_forget_and_restore(engrams: Any) -> None:
    """A forgotten memory is found by no search, is listed as forgotten, and comes back."""
    memory_id = engrams("add", "My locker number is 2041", "--json").json["id"]
    assert engrams("forget", memory_id, "--json").json[0]["status"] == "forgotten"
    assert "2041" not in engrams("search", "locker number", "--json").out
    assert "My locker number is 2041" in texts(engrams("list", "--status", "forgotten", "--json"))
    assert texts(engrams("list", "--json")) == []
    assert engrams("restore", memory_id).code == 0
    assert "My locker number is 2041" in texts(engrams("search", "locker number", "--json"))
    assert engrams("restore", memory_id).code == 4


def test_forget_names_what_was_replaced(engrams: Any) -> None:
    """What the forgotten memory had replaced is named, stays ended, and is current again after its
    restore.
    """
    engrams("add", "I live in Oslo.")
    moved = engrams("add", "I moved to Bergen.", "--json").json["id"]
    output = engrams("forget", moved).out.splitlines()
    (line,) = [line for line in output if line.startswith("had replaced")]
    assert "I live in Oslo." in line and "Oslo" not in engrams("search", "Where do I live?").out
    assert engrams("restore", line.split()[2]).code == 0
    assert "I live in Oslo." in engrams("search", "Where do I live?").out


@pytest.mark.covers("S4.53")
@pytest.mark.parametrize("word", ["y", "yes", "PURGE", "clear", " ", ""])
def test_purge_wants_the_exact_word(engrams: Any, word: str) -> None:
    """Anything but the word itself, typed or given, cancels a purge and keeps everything."""
    engrams("add", "A note about violets")
    assert engrams("purge", "--all", stdin=f"{word}\n").code == 4
    assert len(texts(engrams("list", "--json"))) >= 1
    if word.strip():
        assert engrams("purge", "--all", "--confirm", word).code == 4


def test_purge_leaves_nothing_and_proves_it(engrams: Any, home: Path) -> None:
    """A purged memory is in no file any more; a purge of a conversation leaves what is above it."""
    memory_id = engrams("add", "The word is xylophonist", "--json").json["id"]
    engrams("add", "Above the conversation")
    engrams("add", "Inside the conversation", "-c", "c1")
    proof = engrams("purge", memory_id, "--json", stdin="purge\n").json
    assert sum(proof["removed"].values()) > 0
    assert not any(proof["remaining"].values())
    assert all(
        b"xylophonist" not in path.read_bytes() for path in home.rglob("*") if path.is_file()
    )
    assert engrams("purge", "--all", "-c", "c1", "--confirm", "purge").code == 0
    assert texts(engrams("list", "--kind", "note", "--json")) == ["Above the conversation"]
    refused = engrams("purge", "--all", "--yes")
    assert refused.code == 1
    assert "--confirm purge" in refused.err
    assert engrams("purge").code == 1
    assert engrams("purge", memory_id, "--all").code == 1
    assert "Above the conversation" in engrams("purge", "--all", "--preview").out


def test_a_memory_without_text_is_shown(engrams: Any) -> None:
    """`show` says that a purged memory has no text, and prints the rest of it."""
    memory_id = engrams("add", "The word is xylophonist", "--json").json["id"]
    engrams("purge", memory_id, "--confirm", "purge")
    finished = engrams("show", memory_id)
    assert (
        finished.code == 0
        and finished.out.startswith("(no text)")
        and "purged" in finished.out
        and memory_id in finished.out
    )


def test_purge_about_a_person(engrams: Any, home: Path) -> None:
    """Everything that names somebody is listed with numbers;
    the chosen ones go, and with --yes all that surely names them.
    """
    for text in (
        "Ada Lovelace likes green tea.",
        "I met Ada at the pool on Sunday.",
        "My bike is red and fast",
    ):
        engrams("add", text)
    listed = engrams("purge", "--about", "Ada", "--preview").out
    assert "  1  " in listed and "pool" in listed
    assert len(texts(engrams("list", "--json"))) >= 3
    offered = engrams("purge", "--about", "Ada", "--json").json
    assert {candidate["certain"] for candidate in offered if "bike" in candidate["text"]} <= {False}
    assert engrams("purge", "--about", "Ada", stdin="\n").code == 4
    assert engrams("purge", "--about", "Ada", stdin="99\n").code == 1
    number = next(
        index for index, candidate in enumerate(offered, 1) if "pool" in candidate["text"]
    )
    assert engrams("purge", "--about", "Ada", stdin=f"{number}\n").code == 0
    assert engrams("purge", "--about", "Ada", "--yes", "--json").json["proven"]
    assert set(texts(engrams("list", "--json"))) == {"My bike is red and fast"}
    assert all(b"pool" not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_explain_answers_why(engrams: Any) -> None:
    """`explain` says in words what spoke for each memory and why others were left out."""
    for text in (
        "Bruno the beagle eats chicken",
        "Bruno the beagle sleeps at noon",
        "The piano is out of tune",
    ):
        engrams("add", text)
    human = engrams("explain", "what does Bruno eat?", "--limit", "1").out
    assert "why: " in human
    assert "“Bruno”" in human, "the words that it shares with the question"
    assert "How the scores add up:" in human
    assert "score" in human
    assert "meaning" in human
    assert "Left out" in human
    assert "not among the best 1" in human
    assert "The question was understood as:" in human
    assert engrams("explain", "what does Bruno eat?", "--kind", "turn").err.startswith(
        "Nothing found"
    )
    narrowed = engrams("explain", "what does Bruno eat?", "--where", "text~piano", "--json").json
    assert narrowed["hits"][0]["text"] == "The piano is out of tune"
    shown = engrams("explain", "what does Bruno eat?", "--limit", "1", "--json").json
    assert set(shown) == {"hits", "abstain", "trace"}
    assert set(shown["trace"]) == {
        "query",
        "understood",
        "stages",
        "rows",
        "notes",
        "path",
        "missing",
    }
    assert any(row["dropped"] for row in shown["trace"]["rows"])


def test_explain_names_who_and_when(engrams: Any, tmp_path: Path) -> None:
    """`explain` names the person and the days that spoke for a memory, and the question's own
    words, whatever their ending.
    """
    expected_reasons = (
        ("Ann", "2026-09-12", "We hiked along the coast of Madeira"),
        ("Ben", "2026-05-02", "The boat needs paint"),
    )
    rows = [
        {"id": f"t{n}", "speaker": who, "at": f"{day}T10:00:00Z", "text": text}
        for n, (who, day, text) in enumerate(expected_reasons)
    ]
    file = tmp_path / "said.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    engrams("import", str(file))
    human = engrams("explain", "Where did Ann go hiking in September 2026?", "--limit", "1").out
    assert "Ann said it, whom you ask about" in human
    assert "“September 2026”: 2026-09-01 to 2026-09-30" in human
    assert "“hiking”" in human, "not the stem, and not without its ending"
    assert "about Ann; a time, “September 2026”" in human
    assert "found by words and by meaning" in human


def test_explain_does_not_make_much_of_little(engrams: Any) -> None:
    """Where nothing came near, `explain` says so instead of praising what little there is."""
    engrams("add", "The boat needs paint")
    finished = engrams("explain", "quantum chromodynamics")
    assert finished.err.startswith("No close match")
    assert "why: a weak match: no memory is closer" in finished.out


def test_context_keeps_its_budget(engrams: Any) -> None:
    """`context` gives text for a prompt within the tokens asked for."""
    for number in range(20):
        engrams("add", f"Fact number {number} about the lighthouse keeper and his many books")
    answer = engrams("context", "the lighthouse keeper", "--tokens", "60", "--json").json
    assert set(answer) == {
        "text", "prefix", "tail", "tokens", "version", "abstain", "notes", "hits", "closest",
    }  # fmt: skip
    assert 0 < answer["tokens"] <= 60
    assert "lighthouse" in engrams("context", "the lighthouse keeper").out
    assert engrams("context", "the lighthouse keeper", "--tokens", "0", "--json").json["text"] == ""


def test_list_goes_on_where_it_stopped(engrams: Any) -> None:
    """Pages of a list join to the whole, in both orders."""
    engrams("add", *(f"Note {number} about rivers" for number in range(7)), "-q")
    for order in ("newest", "oldest"):
        collected: list[str] = []
        after = ""
        while True:
            page = engrams(
                "list",
                "--kind",
                "note",
                "--limit",
                "3",
                "--order",
                order,
                "--after",
                after,
                "--json",
            ).json
            collected += [record["text"] for record in page["records"]]
            after = page["next"]
            if not after:
                break
        assert len(collected) == len(set(collected)) == 7
    assert "--after" in engrams("list", "--limit", "3").err


def test_nothing_found_says_so(engrams: Any) -> None:
    """A search of an empty memory prints nothing on standard output and says so beside it."""
    finished = engrams("search", "anything")
    assert (finished.code, finished.out) == (0, "")
    assert "Nothing found" in finished.err
    assert "Nothing here" in engrams("list").err


def test_stored_text_cannot_steer_the_terminal(engrams: Any) -> None:
    """Escape sequences in a memory are shown harmless, and come back as they were in JSON."""
    engrams("add", "red \x1b[31malert\u202e txet", "-q")
    assert "\x1b" not in engrams("list").out + engrams("search", "alert").out
    assert "\x1b[31m" in texts(engrams("list", "--json"))[0]


def test_secrets_are_not_stored(engrams: Any, home: Path) -> None:
    """With write.secrets=refuse a text with a key is refused with its own exit code and stays out
    of every file.
    """
    secret = "sk-proj-" + "a1B2c3D4e5" * 4
    for setting in ("write.secrets=refuse", "write.secrets_of=key=refuse"):
        for words in ((f"My key is {secret}",), ("A note.", "--trigger", secret)):
            finished = engrams("add", *words, "--set", setting, "--json")
            assert finished.code == 4
            assert json.loads(finished.err.splitlines()[-1])["error"]["type"] == "RefusedError"
    assert not engrams("list", "--json").json["records"]
    assert all(
        secret.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file()
    )


def test_secrets_are_not_repeated(engrams: Any) -> None:
    """A text whose secret was taken out is stored without it, and the secret is shown neither in
    words nor as JSON.
    """
    secret = "sk-proj-" + "a1B2c3D4e5" * 4
    for arguments in ((), ("--json",)):
        finished = engrams("add", f"My key for the printer is {secret}", *arguments)
        assert finished.code == 0
        assert "redacted" in finished.out
        assert secret not in finished.out + finished.err
    assert secret not in engrams("list", "--status", "all", "--json").out


def test_a_broken_store_has_its_own_code(engrams: Any, home: Path) -> None:
    """A home that cannot hold a store ends with 5 and a hint."""
    home.write_text("I am a file")
    finished = engrams("add", "x y z")
    assert finished.code == 5
    assert "hint: " in finished.err


def test_an_import_that_leaves_a_message_out_fails(engrams: Any, tmp_path: Path) -> None:
    """A text larger than memory takes is named, the others are stored, and the code says that
    something is missing.
    """
    rows = (
        {"role": "user", "text": text} for text in ("Crate 7 stands in hall 2.", "long " * 220_000)
    )
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    finished = engrams("import", str(file))
    assert (finished.code, "1 piece was not imported" in finished.err) == (1, True), finished
    assert "1 memory" in finished.out and "Crate 7" in engrams("list").out
    assert engrams("import", str(file), "--skip-bad").code == 0
    previewed = engrams("import", str(file), str(tmp_path / "missing.json"), "--dry-run")
    assert "1 file cannot be imported." in previewed.err and "was imported" not in previewed.err
    assert "--git belongs to --undo" in engrams("import", str(file), "--git").err


def test_a_dot_is_the_project_of_the_folder(
    engrams: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--project . means what it means to the hook; the list tells the projects apart."""
    folder = tmp_path / "alpha"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert engrams("add", "--project", ".", "The staging DB is on port 5433.").code == 0
    assert "5433" in engrams("search", "--project", "alpha", "staging port").out
    assert "alpha" in engrams("list").out
    monkeypatch.chdir(tmp_path)
    assert engrams("search", "--project", ".", "staging port").out == ""


@pytest.mark.parametrize("path", ["./alpha", "{tmp_path}/alpha/", "../{name}/alpha"])
def test_a_path_is_the_project_of_its_folder(
    engrams: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """--project takes a folder as it takes a dot; a folder that is not there is an error."""
    tmp_path.joinpath("alpha").mkdir()
    monkeypatch.chdir(tmp_path)
    project = path.format(tmp_path=tmp_path, name=tmp_path.name)
    assert engrams("add", "--project", project, "The staging DB is on port 5433.").code == 0
    listed = engrams("projects", "--json").json["projects"]
    assert [project["name"] for project in listed] == ["alpha"]
    missing = engrams("search", "--project", f"{project.rstrip('/')}x", "staging port")
    assert missing.code != 0 and "There is no folder" in missing.err


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a,b", "a,b"), ('["a", "b c"]', "a,b c"), ("[a]", ""), ("", "")],
)
def test_a_list_is_set_as_in_the_file_or_by_commas(engrams: Any, value: str, shown: str) -> None:
    """What begins like a list and is none is an error that shows both forms."""
    arguments = ("config", "read.seasons", "--set", f"read.seasons={value}")
    if value == "[a]":
        refused = engrams(*arguments)
        assert refused.code != 0 and '["a", "b"]' in refused.err
    else:
        found = engrams(*arguments, "--json").json
        assert ",".join(found["read.seasons"]["value"]) == shown


def test_projects_are_listed(engrams: Any) -> None:
    """`projects` names every project with its active memories, and counts what is in none."""
    engrams("add", "--project", "alpha", "Snow in May")
    engrams("add", "--project", "alpha", "--conversation", "c1", "Rain in June")
    engrams("add", "Tea is better than coffee")
    assert engrams("projects", "--json").json == {
        "projects": [{"name": "", "memories": 1}, {"name": "alpha", "memories": 2}]
    }
    assert engrams("projects").out.split() == ["project", "memories", "1", "alpha", "2"]


def test_bookkeeping_of_frameworks_is_not_listed(engrams: Any, home: Path) -> None:
    """Calls of tools that a framework keeps in its conversation are listed only with every status."""
    with opened(home=home, jobs__workers=0) as memory:
        journal = FrameworkItemJournal(memory, ("user", "ann"), "test", {}, "monday")
        journal.append(
            [
                FrameworkItem({"a": 1}, "The key is under the blue pot."),
                make_silent_item({"call": "search"}),
            ]
        )
    assert texts(engrams("list", "--kind", "turn", "--json")) == ["The key is under the blue pot."]
    assert texts(engrams("list", "--kind", "turn", "--json", "--role", "tool")) == []
    assert texts(engrams("list", "--kind", "turn", "--json", "--status", "all")) == [
        "[item]",
        "The key is under the blue pot.",
    ]


def test_a_purge_gives_a_certificate_that_others_can_check(engrams: Run, tmp_path: Path) -> None:
    """It says what was erased and where it was looked for, and holds no word of it; a changed one is
    not valid.
    """
    engrams("add", "--role", "user", "My spare key hides at Nordlicht bakery.")
    file = tmp_path / "certificate.json"
    done = engrams("purge", "--all", "--confirm", "purge", "--certificate", str(file))
    assert done.code == 0
    content = file.read_text("utf-8")
    assert not {"Nordlicht", "bakery", "spare"} & set(re.findall(r"\w+", content))
    statement = json.loads(content)["signed"]
    assert statement["proven"] and statement["memories"]
    assert statement["before"]["census"] != statement["after"]["census"]
    checked = engrams("certificate", str(file))
    assert checked.code == 0 and "signed by" in checked.out and "proven" in checked.out
    key = json.loads(content)["public_key"]
    assert engrams("certificate", str(file), "--key", key).code == 0
    assert engrams("certificate", str(file), "--key", "0" * 64).code == 4
    file.write_text(content.replace("user/ann", "user/eve"), "utf-8")
    assert engrams("certificate", str(file)).code == 4


def test_a_proof_shows_what_a_memory_is_made_of(engrams: Run, tmp_path: Path) -> None:
    """The lineage names the message behind a fact, with hashes and no text; a proof of a day names what
    was active then. Others check both.
    """
    engrams("add", "--role", "user", "I live in Nordlicht.")
    (fact,) = engrams("list", "--json", "--kind", "fact").json["records"]
    file = tmp_path / "proof.json"
    assert engrams("proof", fact["id"], "-o", str(file)).code == 0
    statement = json.loads(file.read_text("utf-8"))["signed"]
    assert "Nordlicht" not in file.read_text("utf-8")
    first, message = statement["lineage"]
    assert first["id"] == fact["id"] and first["sources"] == [message["id"]]
    assert message["kind"] == "turn" and statement["trust"] == min(first["trust"], message["trust"])
    assert engrams("certificate", str(file)).code == 0
    future = engrams("proof", "--as-of", "2999-01-01", "--json").json["signed"]
    assert future["hashes"][fact["id"]] == first["hash"]
    assert engrams("proof", "--as-of", "2001-01-01", "--json").json["signed"]["memories"] == []
    assert engrams("proof").code == 1
