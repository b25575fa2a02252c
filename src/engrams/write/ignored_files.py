"""Files whose text is never stored: keys, environments, and those that a project ignores.

Enter at ``match_ignore_rule`` with the rules of ``read_rooted_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from engrams.errors import SettingsError

IGNORE_FILES = (".gitignore", ".secretsignore")

# Refused in every folder, without any ignore file.
ALWAYS = (
    ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.kdbx",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass", ".htpasswd", ".npmrc", ".pypirc", ".git-credentials",
    "credentials.json",
    "service-account*.json", "secrets.y*ml", "secrets.toml", "**/.aws/credentials", "**/.docker/config.json", "**/.kube/config",
)  # fmt: skip


def match_ignore_rule(path: str, rules: Sequence[str] = ()) -> str:
    """Return the rule that excludes the file at ``path``, else empty.

    ``rules`` are lines of a .gitignore, relative to the folder that ``path`` is relative to; the
    last match counts, and ``!`` lets a file in again. The rules of ``ALWAYS`` come first, so a
    project can lift them only by name.
    """
    plain = path.replace("\\", "/").lstrip("/").removeprefix("./")
    matched = ""
    for rule in (*ALWAYS, *rules):
        line = rule.rstrip("\n").rstrip()
        if not line or line.startswith("#"):
            continue
        is_allowing = line.startswith("!")
        if _compile_rule(line.removeprefix("!").removeprefix("\\")).search(plain):
            matched = "" if is_allowing else line
    return matched


def read_rules(folder: Path) -> tuple[str, ...]:
    """Read the ignore rules of a project's folder.

    Missing files and files that are not text have none.
    """
    rules: list[str] = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            rules += file.read_text("utf-8", "replace").splitlines()
    return tuple(rules)


def read_rooted_rules(folder: Path) -> tuple[str, ...]:
    """Read ignore rules that also match absolute paths.

    A rule with a slash also counts below the folder. SettingsError: a file cannot be read.
    """
    try:
        rules = read_rules(folder)
        root = folder.resolve().as_posix().rstrip("/")
    except OSError as problem:
        raise SettingsError(
            f"The ignore files in {folder} cannot be read: {problem}.",
            hint="Set `write.ignore_root`.",
        ) from None
    rooted: list[str] = []
    for rule in rules:
        rooted.append(rule)
        line = rule.strip()
        bare = line.removeprefix("!")
        if line and not line.startswith("#") and "/" in bare.rstrip("/"):
            mark = "!" if line.startswith("!") else ""
            rooted.append(f"{mark}{root}/{bare.lstrip('/')}")
    return tuple(rooted)


def find_ignore_rule(file: Path) -> str:
    """Return the rule of a file's folders that excludes it, else empty.

    Folders above it count up to that of its git repository.
    """
    full = file.resolve()
    for folder in full.parents:
        try:
            rules = read_rules(folder)
        except OSError:
            rules = ()  # a folder above that may not be read
        if rule := match_ignore_rule(full.relative_to(folder).as_posix(), rules):
            return rule
        if (folder / ".git").exists():
            break
    return ""


def _translate_class(body: str) -> str:
    """Translate ``[a-z]`` and ``[!a-z]``; malformed ranges match themselves."""
    inverted = body.startswith(("!", "^"))
    inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", body[1:] if inverted else body)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return re.escape(f"[{body}]")
    return f"[{'^' if inverted else ''}{inner}]"


@lru_cache(maxsize=4096)
def _compile_rule(rule: str) -> re.Pattern[str]:
    """Compile a .gitignore line to a path pattern (gitignore(5))."""
    anchored = "/" in rule.rstrip("/")
    folder = rule.endswith("/")
    parts: list[str] = []
    for piece in re.split(r"(/\*\*/|\*\*/|/\*\*|\*\*|\*|\?|\[[^\]/]+\])", rule.strip("/")):
        match piece:
            case "/**/":
                parts.append("/(?:.*/)?")
            case "**/":
                parts.append("(?:.*/)?")
            case "/**":
                parts.append("/.*")
            case "*" | "**":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case _ if piece.startswith("[") and piece.endswith("]"):
                parts.append(_translate_class(piece[1:-1]))
            case _:
                parts.append(re.escape(piece))
    start = "^" if anchored else "(?:^|/)"
    return re.compile(f"{start}{''.join(parts)}{'/' if folder else '(?:/|$)'}")
