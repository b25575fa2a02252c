"""Files whose text is never stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.write.conftest import Talk, journal_turns

from engrams.core import Turn
from engrams.write.ignored_files import match_ignore_rule, read_rules


@pytest.mark.covers("S3.52")
@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env",
        ".env.production",
        "keys/server.pem",
        "/home/bo/.ssh/id_rsa",
        "C:\\proj\\.env",
        "./.netrc",
        "x/.aws/credentials",
    ],
)
def test_environments_and_keys_are_never_read(path: str) -> None:
    """Environment files, keys and credentials are refused without any ignore file."""
    assert match_ignore_rule(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "src/main.py",
        "docs/environment.md",
        "keyboard.txt",
        "notes/env.md",
        "id_rsa.pub.md",
    ],
)
def test_other_files_are_read(path: str) -> None:
    """Names that only look a little alike are let through."""
    assert match_ignore_rule(path) == ""


@pytest.mark.covers("S3.52")
@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("build/", "build/out.txt", True), ("build/", "build", False), ("build/", "src/build/x", True), ("/build/", "src/build/x", False),
        ("*.log", "a/b/c.log", True), ("*.log", "a/b/c.logs", False), ("docs/*.txt", "docs/a.txt", True), ("docs/*.txt", "docs/a/b.txt",
        False),
        ("docs/**/x.md", "docs/a/b/x.md", True), ("docs/**/x.md", "docs/x.md", True), ("**/tmp", "a/b/tmp", True), ("private/**",
        "private/a/b", True),
        ("a?c", "abc", True), ("a?c", "a/c", False), ("[ab].txt", "a.txt", True), ("[!ab].txt", "a.txt", False), ("[!ab].txt", "c.txt",
        True),
        ("# note", "# note", False), ("", "anything", False), ("[z-a].txt", "b.txt", False), ("node_modules", "x/node_modules/y/z.js",
        True),
    ],
)  # fmt: skip
def test_rules_are_read_as_git_reads_them(rule: str, path: str, matches: bool) -> None:
    """Folders, anchors, stars, classes and comments mean what they mean in a .gitignore."""
    assert bool(match_ignore_rule(path, [rule])) is matches


def test_the_last_rule_counts() -> None:
    """A later rule with an exclamation mark lets a file in again."""
    assert match_ignore_rule("logs/keep.log", ["*.log", "!keep.log"]) == ""
    assert match_ignore_rule("logs/keep.log", ["!keep.log", "*.log"]) == "*.log"
    assert match_ignore_rule(".env", ["!.env"]) == ""


@pytest.mark.covers("S3.52")
def test_text_of_an_ignored_file_is_not_journaled(talk: Talk, tmp_path: Path) -> None:
    """A turn that names an ignored file as its source is refused with the rule;
    one of another file is stored and names it.
    """
    (tmp_path / ".gitignore").write_text("drafts/\n", "utf-8")
    (tmp_path / ".secretsignore").write_text("*.vault.md\n", "utf-8")
    talk.settings = talk.settings.model_copy(
        update={
            "write": talk.settings.write.model_copy(update={"ignore_root": str(tmp_path)}),
        }
    )
    turns = [
        Turn("some text", meta={"file": name})
        for name in ("drafts/a.md", "b.vault.md", "notes/c.md")
    ] + [Turn("x y z", meta={"files": ["ok.md", ".env"]})]
    journaled = journal_turns(turns, talk.deps)
    assert [receipt.outcome for receipt in journaled.receipts] == [
        "refused",
        "refused",
        "stored",
        "refused",
    ]
    assert "drafts/" in journaled.receipts[0].decisions[0].reason
    assert journaled.records[0].provenance.files == ("notes/c.md",)


def test_a_folder_without_ignore_files_has_no_rules(tmp_path: Path) -> None:
    """Where there is no ignore file there are no rules."""
    assert read_rules(tmp_path) == ()
