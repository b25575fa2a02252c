"""``python -m bench.agents.code REPOSITORY…``: are memories of code true when the code has changed?

Replays the history of each repository. Facts about a commit are said by templates and stored beside
its checkout. Then a later commit is checked out, and the state of each memory is compared with the
truth, which is computed by another route: ``git grep`` and ``git show`` at that commit, and Python's
``ast`` there. Nothing of a repository is kept.

``stale served``: share of the facts that are no longer true, but are told without a note.
``false alarms``: share of the facts that are still true, but are called drifted, gone or moved.
A fact of which no anchor was made counts as told. ``--show`` prints the mistakes.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import engrams
from engrams.checkouts import code_anchor_reader, source_trees
from engrams.checkouts.code_anchor_reader import CheckoutReader
from engrams.core.code_anchors import AnchorState, CodeVerdict, read_anchors

SCOPE = ("user", "ann", "project", "replayed")
STEPS = (3, 15, 60, 200)
"""Commits between a fact and the question, along the first parents."""
PAIRS = 12
"""Pairs of commits of one repository."""
FACTS = 40
"""Facts said of one commit, at most."""
HITS = 10
CODE = (".py", ".js", ".ts", ".go")
_TIMED = 20


@dataclass(frozen=True)
class Fact:
    """Sentence about a commit, and its truth at another one."""

    text: str
    kind: str
    holds: Callable[[Repository, str], bool]
    """Computes from the repository and a commit whether the sentence is true there."""


@dataclass(frozen=True)
class Repository:
    """Clone of a repository, read by the git command."""

    folder: Path

    def run(self, *arguments: str) -> str:
        """Return what a git command prints; empty where it fails."""
        finished = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], capture_output=True, check=False
        )
        return finished.stdout.decode("utf-8", "replace") if finished.returncode == 0 else ""

    def show(self, commit: str, path: str) -> str:
        """Return a file of a commit; empty where there is none."""
        return self.run("show", f"{commit}:{path}")

    def grep(self, commit: str, pattern: str, *paths: str) -> str:
        """Return the lines of a commit that match an extended regular expression."""
        return self.run("grep", "-nE", pattern, commit, "--", *paths)

    def list_files(self, commit: str) -> list[str]:
        """List the files of a commit."""
        return self.run("ls-tree", "-r", "--name-only", commit).splitlines()


@dataclass
class Counts:
    """Outcomes of one repository."""

    true_facts: int = 0
    false_facts: int = 0
    stale_served: int = 0
    false_alarms: int = 0
    unanchored: int = 0
    moved_right: int = 0
    moved: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    warm: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Add the outcomes of another repository."""
        for name in (
            "true_facts",
            "false_facts",
            "stale_served",
            "false_alarms",
            "unanchored",
            "moved_right",
            "moved",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.kinds += other.kinds
        self.warm += other.warm
        self.cold += other.cold

    def tell(self, name: str) -> str:
        """Say the outcomes in one line."""
        stale = self.stale_served / max(self.false_facts, 1)
        alarms = self.false_alarms / max(self.true_facts, 1)
        told = self.true_facts + self.stale_served - self.false_alarms
        return (
            f"{name:24} facts {self.true_facts + self.false_facts:5}, no longer true {self.false_facts:4};"
            f" stale served {self.stale_served:3} ({stale:.1%} of the stale,"
            f" {self.stale_served / max(told, 1):.2%} of the told);"
            f" false alarms {self.false_alarms:3} ({alarms:.2%}); no anchor {self.unanchored:3};"
            f" moved to the right place {self.moved_right} of {self.moved};"
            f" ten hits {_median(self.warm):.2f} ms, first time {_median(self.cold):.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agents.code", description=__doc__)
    parser.add_argument("repositories", type=Path, nargs="+", help="folders of git repositories")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of commits of each")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", action="store_true", help="print each mistake")
    options = parser.parse_args()
    total = Counts()
    for folder in options.repositories:
        counts = replay(folder, options.pairs, options.seed, show=options.show)
        print(counts.tell(folder.parent.name if folder.name == "repo" else folder.name), flush=True)
        total.add(counts)
    print(total.tell("all"))
    print("facts by kind:", ", ".join(f"{kind} {n}" for kind, n in sorted(total.kinds.items())))


def replay(source: Path, pairs: int, seed: int, *, show: bool) -> Counts:
    """Replay the history of one repository."""
    counts = Counts()
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(
            ["git", "clone", "-q", "--shared", "--no-checkout", str(source), str(clone)],
            check=True,
            capture_output=True,
        )
        repository = Repository(clone)
        commits = repository.run("rev-list", "--first-parent", "HEAD").splitlines()[::-1]
        generator = random.Random(f"{seed}-{source.parent.name}")
        for number in range(pairs):
            step = STEPS[number % len(STEPS)]
            first = len(commits) // 4
            if first + step >= len(commits):
                continue
            start = generator.randrange(first, len(commits) - step)
            home = Path(folder) / f"home-{number}"
            pair = (commits[start], commits[start + step])
            _replay_pair(repository, home, pair, generator, counts, show=show)
            shutil.rmtree(home, ignore_errors=True)
    return counts


def _replay_pair(
    repository: Repository,
    home: Path,
    pair: tuple[str, str],
    generator: random.Random,
    counts: Counts,
    *,
    show: bool,
) -> None:
    before, after = pair
    repository.run("checkout", "-q", "-f", "--detach", before)
    repository.run("clean", "-qfdx")
    facts = choose_facts(repository, before, generator)
    folder = repository.folder
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as engine:
        ids = [engine.add(fact.text, scope=SCOPE, checkout=folder).id for fact in facts]
        repository.run("checkout", "-q", "-f", "--detach", after)
        checked = engine.code.verify(scope=SCOPE, checkout=folder)
        verdicts = {memory.record.id: memory.verdict for memory in checked}
        anchored = [read_anchors(memory.record) for memory in checked]
    for fact, memory_id in zip(facts, ids, strict=True):
        _judge(fact, verdicts.get(memory_id), repository, after, counts, show=show)
    if anchored:
        _time_checks(
            [anchored[generator.randrange(len(anchored))] for _ in range(HITS)], folder, counts
        )


def _judge(
    fact: Fact,
    verdict: CodeVerdict | None,
    repository: Repository,
    commit: str,
    counts: Counts,
    *,
    show: bool,
) -> None:
    is_true = fact.holds(repository, commit)
    counts.kinds[fact.kind] += 1
    counts.unanchored += verdict is None
    is_told = verdict is None or verdict.state is AnchorState.FRESH
    if is_true:
        counts.true_facts += 1
        counts.false_alarms += not is_told
    else:
        counts.false_facts += 1
        counts.stale_served += is_told
        if verdict is not None and verdict.state is AnchorState.MOVED:
            counts.moved += 1
            new_path = verdict.note.rsplit(" is now in ", 1)[-1]
            counts.moved_right += bool(repository.show(commit, new_path))
    if show and is_true is not is_told:
        mistake = "false alarm" if is_true else "stale served"
        note = verdict.note if verdict else "no anchor"
        print(f"  {mistake} ({fact.kind}): {fact.text}  [{note}]  at {commit[:10]}")


def _time_checks(
    memories: list[engrams.core.code_anchors.CodeAnchors | None], folder: Path, counts: Counts
) -> None:
    reader = CheckoutReader()
    code_anchor_reader.findings.cache_clear()
    source_trees.outlines.clear()
    source_trees.listings.clear()
    begun = time.perf_counter()
    reader.check(memories, folder)
    counts.cold.append((time.perf_counter() - begun) * 1000)
    for _ in range(_TIMED):
        begun = time.perf_counter()
        reader.check(memories, folder)
        counts.warm.append((time.perf_counter() - begun) * 1000)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


# --------------------------------------------------------------------------------------------------
# facts


def choose_facts(repository: Repository, commit: str, generator: random.Random) -> list[Fact]:
    """Choose facts about a commit, of every kind that it has."""
    by_kind: dict[str, list[Fact]] = {}
    files = [
        path for path in repository.list_files(commit) if not path.startswith(("vendor/", "dist/"))
    ]
    sources = [path for path in files if path.endswith(CODE) and not path.endswith(".min.js")]
    for path in generator.sample(sources, min(len(sources), 25)):
        text = repository.show(commit, path)
        for fact in _facts_of_file(path, text, generator):
            by_kind.setdefault(fact.kind, []).append(fact)
    if "package.json" in files:
        for fact in _facts_of_package(repository.show(commit, "package.json"), generator):
            by_kind.setdefault(fact.kind, []).append(fact)
    chosen: list[Fact] = []
    share = max(FACTS // max(len(by_kind), 1), 1)
    for facts in by_kind.values():
        chosen += generator.sample(facts, min(len(facts), share))
    return list({fact.text: fact for fact in chosen if fact.holds(repository, commit)}.values())


def _facts_of_file(path: str, text: str, generator: random.Random) -> Iterator[Fact]:
    sentence = generator.choice(
        (
            "The code for this lives in {path}.",
            "{path} has the implementation.",
            "Look at `{path}` for that.",
        )
    )
    yield Fact(
        sentence.format(path=path),
        "file",
        lambda repository, commit: bool(repository.run("cat-file", "-t", f"{commit}:{path}")),
    )
    if path.endswith(".py"):
        yield from _python_facts(path, text, generator)
    elif path.endswith(".go"):
        yield from _go_facts(path, text, generator)
    else:
        yield from _script_facts(path, text, generator)


_SYMBOL_SENTENCES = (
    "`{name}` is defined in {path}.",
    "The function {name} is in `{path}`.",
    "{path} contains {name}().",
    "We have `{name}` in `{path}` for that.",
)
_ARGUMENT_SENTENCES = (
    "The function `{name}` in {path} takes `{argument}`.",
    "`{name}` ({path}) accepts the argument {argument}.",
    "In {path} the function {name} has a parameter `{argument}`.",
)
_VALUE_SENTENCES = (
    "{name} in {path} is {value}.",
    "The constant `{name}` in `{path}` has the value {value}.",
    "`{name} = {value}` in {path}.",
)


def _say(sentences: tuple[str, ...], generator: random.Random, **parts: str) -> str:
    return generator.choice(sentences).format(**parts)


def _python_facts(path: str, text: str, generator: random.Random) -> Iterator[Fact]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(
            "__"
        ):
            name = node.name
            yield Fact(
                _say(_SYMBOL_SENTENCES, generator, name=name, path=path),
                "symbol",
                _grep(path, rf"^[[:space:]]*(async )?def {name}[[:space:]]*[[(]"),
            )
            arguments = [
                argument.arg for argument in node.args.args if argument.arg not in ("self", "cls")
            ]
            if arguments:
                argument = generator.choice(arguments)
                yield Fact(
                    _say(_ARGUMENT_SENTENCES, generator, name=name, path=path, argument=argument),
                    "argument",
                    _python_argument(path, name, argument),
                )
        elif isinstance(node, ast.ClassDef):
            sentence = generator.choice(("The class `{0}` is in {1}.", "{1} defines class {0}."))
            yield Fact(
                sentence.format(node.name, path),
                "symbol",
                _grep(path, rf"^[[:space:]]*class {node.name}[[:space:]]*[[(:]"),
            )
    for match in re.finditer(r"^([A-Z][A-Z_]{3,}) = ([\w.\"'-]{1,30})$", text, re.MULTILINE):
        yield _value_fact(path, match[1], match[2], generator)


def _python_argument(path: str, name: str, argument: str) -> Callable[[Repository, str], bool]:
    def holds(repository: Repository, commit: str) -> bool:
        try:
            tree = ast.parse(repository.show(commit, path))
        except (SyntaxError, ValueError):
            return False
        return any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
            and argument in {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
            for node in ast.walk(tree)
        )

    return holds


def _go_facts(path: str, text: str, generator: random.Random) -> Iterator[Fact]:
    for match in re.finditer(r"^func (?:\([^)]*\) )?(\w+)\(([^)]*)\)", text, re.MULTILINE):
        name = match[1]
        start = rf"^func (\([^)]*\) )?{name}\("
        yield Fact(
            _say(_SYMBOL_SENTENCES, generator, name=name, path=path), "symbol", _grep(path, start)
        )
        arguments = re.findall(r"(\w+)(?:, \w+)* [\w.*\[\]]+", match[2])
        if arguments and len(name) > 2:
            argument = generator.choice(arguments)
            yield Fact(
                _say(_ARGUMENT_SENTENCES, generator, name=name, path=path, argument=argument),
                "argument",
                _grep(path, rf"{start}([^)]*[^[:alnum:]_])?{argument}[^[:alnum:]_]"),
            )
    for match in re.finditer(r"^\t(\w{4,})\s+= (\"[\w./-]{1,30}\"|\d+)$", text, re.MULTILINE):
        yield _value_fact(path, match[1], match[2], generator)


def _script_facts(path: str, text: str, generator: random.Random) -> Iterator[Fact]:
    pattern = r"^(?:export )?(?:default )?(?:async )?function (\w{3,})\s*\(([^)]*)\)"
    for match in re.finditer(pattern, text, re.MULTILINE):
        name = match[1]
        start = rf"^(export )?(default )?(async )?function {name}[[:space:]]*\("
        yield Fact(
            _say(_SYMBOL_SENTENCES, generator, name=name, path=path), "symbol", _grep(path, start)
        )
        arguments = re.findall(r"(?:^|,)\s*(\w+)", match[2])
        if arguments:
            argument = generator.choice(arguments)
            yield Fact(
                _say(_ARGUMENT_SENTENCES, generator, name=name, path=path, argument=argument),
                "argument",
                _grep(path, rf"{start}([^)]*[^[:alnum:]_])?{argument}[^[:alnum:]_]"),
            )
    for match in re.finditer(
        r"^(?:export )?const ([A-Za-z_]\w{3,}) = ([\d.]+|'[\w ./-]{1,30}');?$", text, re.MULTILINE
    ):
        yield _value_fact(path, match[1], match[2], generator)


def _value_fact(path: str, name: str, value: str, generator: random.Random) -> Fact:
    pattern = rf"(^|[[:space:]]){re.escape(name)}[^=]*[[:space:]]*=[[:space:]]*{re.escape(value)}[;,]?[[:space:]]*(#.*|//.*)?$"
    return Fact(
        _say(_VALUE_SENTENCES, generator, name=name, path=path, value=value),
        "value",
        _grep(path, pattern),
    )


def _facts_of_package(text: str, generator: random.Random) -> Iterator[Fact]:
    try:
        package = json.loads(text)
    except ValueError:
        return
    for name, command in (package.get("scripts") or {}).items():
        sentence = generator.choice(
            (
                "The script `{0}` is in package.json.",
                "Run the script `{0}` of package.json for that.",
            )
        )
        yield Fact(sentence.format(name), "script", _package_has("scripts", name, None))
        if len(command) < 40 and "`" not in command:
            yield Fact(
                f"The script `{name}` in package.json runs `{command}`.",
                "script",
                _package_has("scripts", name, command),
            )
    for name, version in (package.get("devDependencies") or {}).items():
        yield Fact(
            f'package.json asks for `{name}` in version "{version}".',
            "dependency",
            _package_has("devDependencies", name, version),
        )


def _package_has(section: str, name: str, value: str | None) -> Callable[[Repository, str], bool]:
    def holds(repository: Repository, commit: str) -> bool:
        try:
            entries = json.loads(repository.show(commit, "package.json")).get(section) or {}
        except (ValueError, AttributeError):
            return False
        return name in entries and (value is None or entries[name] == value)

    return holds


def _grep(path: str, pattern: str) -> Callable[[Repository, str], bool]:
    return lambda repository, commit: bool(repository.grep(commit, pattern, path))


if __name__ == "__main__":
    main()
