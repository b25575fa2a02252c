"""The documentation is complete and true:
what it names exists, what exists is named, and its code runs.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.http.running import running

import engrams
from engrams import errors
from engrams.program.main import main
from engrams.program.registry import create_app
from engrams.settings import names, presets
from engrams.surfaces.http.rest.permissions import REST_PERMISSIONS
from engrams.testing import temp_engine
from engrams.transfer.formats import FORMATS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
LANGUAGES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "zh": "Chinese",
    "ja": "Japanese",
}
SECTIONS = "|".join(sorted({setting.partition(".")[0] for setting in names() if "." in setting}))
PATHS = re.compile(r"`((?:src|tests|docs|scripts|bench|examples|requirements)/[\w./-]+)`")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """The Python code of a page with the line it starts at;
    a block fenced as ``python no-run`` only shows.
    """
    text = path.read_text("utf-8")
    for found in FENCE.finditer(text):
        if found.group(1).strip() == "python":
            yield text.count("\n", 0, found.start()) + 1, found.group(2)


def anchors(path: Path) -> set[str]:
    """The heading anchors of a page, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.exists() and any(blocks(page))], ids=name
)
def test_code_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a page run, one after the other, in an empty folder, and none of their
    lines prints nothing.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path / "home"))
    said: list[str] = []
    space: dict[str, object] = {
        "__name__": "page",
        "print": lambda *shown: said.append(" ".join(map(str, shown))),
    }

    def run() -> None:
        for line, code in blocks(page):
            exec(compile("\n" * line + code, name(page), "exec"), space)

    with ThreadPoolExecutor(1) as alone:  # a page may start an event loop of its own
        alone.submit(run).result()
    assert all(text.strip() for text in said), said


@pytest.mark.parametrize("page", sorted((DOCS / "concepts" / "presets").glob("*.md")), ids=name)
def test_a_presets_page_shows_what_works(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command and each request on the page of a preset succeeds, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path / "home"))
    shown = FENCE.findall(page.read_text("utf-8"))
    lines = [(kind, line) for kind, body in shown for line in body.splitlines()]
    requests = [line.split(maxsplit=2) for kind, line in lines if kind == "http"]
    commands = [shlex.split(line)[1:] for kind, line in lines if kind == "sh"]
    for command in commands:
        assert main(command) == 0, (command, capsys.readouterr().err)
    if requests:
        with (
            engrams.open(preset=page.stem, home="served", user="ann") as engine,
            running(create_app(engine, engine.settings)) as url,
        ):
            for method, path, *body in requests:
                content = body[0] if body else None
                headers = {"x-engrams-user": "ann", "content-type": "application/json"}
                answer = httpx2.request(method, url + path, content=content, headers=headers)
                assert answer.is_success, (method, path, answer.text)
    assert commands


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    """Each script in examples runs by itself and leaves nothing where it was started."""
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that exists, and every anchor a heading in it."""
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (
            anchor and there.suffix == ".md" and anchor not in anchors(there)
        ):
            broken.append(target)
    assert broken == []


def test_every_page_is_reachable() -> None:
    """Following links from the README leads to every page."""
    seen: set[Path] = set()
    queue = [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        queue += [
            (page.parent / target.partition("#")[0]).resolve()
            for target in LINK.findall(page.read_text("utf-8"))
            if ":" not in target
        ]
    assert [name(page) for page in PAGES if page not in seen] == []


def test_every_command_is_documented() -> None:
    """Every command of the command line stands in the reference."""
    typer_main = pytest.importorskip("typer.main")
    main = pytest.importorskip("engrams.program.main")
    page = (DOCS / "reference" / "cli.md").read_text("utf-8")

    def walk(command: object, path: str) -> Iterator[str]:
        for part, child in getattr(command, "commands", {}).items():
            if not getattr(child, "hidden", False):
                yield f"{path} {part}"
                yield from walk(child, f"{path} {part}")

    assert [
        path for path in walk(typer_main.get_command(main.app), "engrams") if path not in page
    ] == []


def test_every_import_format_is_documented() -> None:
    """Every format of files that can be imported stands in the table of the reference."""
    page = (DOCS / "reference" / "json.md").read_text("utf-8")
    table = page.partition("## Files that can be imported")[2]
    missing = [
        format for format in FORMATS if not re.search(rf"^\|[^|]*`{format}`", table, re.MULTILINE)
    ]
    assert missing == [], (
        "add a row to docs/reference/json.md; for another product also to docs/guides/move.md"
    )


def test_every_route_is_documented() -> None:
    """Every segment of a path of the REST API stands in its guide."""
    page = (DOCS / "guides" / "rest.md").read_text("utf-8")
    missing = {
        f"{permission.method} {permission.path}"
        for permission in REST_PERMISSIONS
        for segment in permission.path.split("/")[2:]
        if not segment.startswith("{") and f"/{segment}" not in page
    }
    assert missing == set(), "add a row to the tables of docs/guides/rest.md"


def test_every_setting_is_documented() -> None:
    """Every setting stands in the reference, by its dotted name."""
    page = (DOCS / "reference" / "settings.md").read_text("utf-8")
    assert [setting for setting in names() if f"`{setting}`" not in page] == []


def test_every_public_name_is_documented() -> None:
    """Every name of the package and every public method of the engine stands in the reference."""
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    assert [item for item in engrams.__all__ if f"`engrams.{item}`" not in page] == []
    methods = [item for item in vars(engrams.MemoryEngine) if not item.startswith("_")]
    assert [
        item
        for item in methods
        if f"#### `{item}`" not in page and f"#### `engine.{item}`" not in page
    ] == []


def test_the_picture_shows_the_layers() -> None:
    """The picture for contributors has the layers of the import contract, in their order."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    layers = [[part.strip(" ()") for part in layer.split("|")] for layer in contract["layers"]]
    drawn = re.findall(
        r'^ +L\d+\["<b>(.*?)</b>', (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE
    )
    assert [layer.split(" · ") for layer in drawn] == layers


def test_files_named_in_the_text_exist() -> None:
    """A path in code style is a file or a folder; NAME stands for any name."""
    wrong = {
        f"{name(page)}: {path}"
        for page in PAGES
        for path in PATHS.findall(page.read_text("utf-8"))
        if "NAME" not in path and "/out" not in path and not (ROOT / path).exists()
    }
    assert wrong == set()


def test_the_glossary_is_in_order() -> None:
    """Terms are in alphabetical order, each once."""
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \|$",
        (DOCS / "concepts" / "glossary.md").read_text("utf-8"),
        re.MULTILINE,
    )[1:]
    plain = [re.sub(r"[^a-z0-9]", "", term.lower()) for term in rows]
    assert plain == sorted(set(plain))


def test_every_weight_of_a_search_is_explained() -> None:
    """The page on recall says what each part of a score measures."""
    page = (DOCS / "concepts" / "recall.md").read_text("utf-8")
    parts = [
        setting.rpartition(".")[2] for setting in names() if setting.startswith("read.weights.")
    ]
    assert [part for part in parts if f"`{part}`" not in page] == []


def test_every_error_is_documented() -> None:
    """Every error class stands in the reference."""
    page = (DOCS / "reference" / "errors.md").read_text("utf-8")
    classes = [
        item
        for item, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.EngramsError)
    ]
    assert [item for item in classes if f"`{item}`" not in page] == []
    assert len(classes) <= 14


def test_settings_named_in_the_text_exist() -> None:
    """A dotted name in code style that looks like a setting is one."""
    known = set(names())
    known |= {setting.rpartition(".")[0] for setting in known}
    wrong = {
        f"{name(page)}: {found}"
        for page in PAGES
        for found in re.findall(rf"`((?:{SECTIONS})\.[a-z_.]+)`", page.read_text("utf-8"))
        if found not in known and not found.endswith((".json", ".jsonl", ".toml"))
    }
    assert wrong == set()


def test_presets_named_in_the_text_exist() -> None:
    """Where the text says `preset = "x"` or `--preset x`, x ships."""
    wrong = {
        f"{name(page)}: {found}"
        for page in PAGES
        for found in re.findall(r"(?:--preset |preset = \")([a-z]+)", page.read_text("utf-8"))
        if found not in presets()
    }
    assert wrong == set()


def test_rules_learn_in_the_languages_of_the_table() -> None:
    """Each language's example gives the fact beside it, and the table has every language that rules
    know.
    """
    text = (DOCS / "concepts" / "writing.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$",
        text.partition("six languages")[2],
        re.MULTILINE,
    )[1:]
    folder = ROOT / "src" / "engrams" / "extract" / "rules" / "languages"
    assert {row[0] for row in rows} == set(LANGUAGES.values())
    assert {path.stem for path in folder.glob("*.toml")} == LANGUAGES.keys() - {"en"}
    for _, said, learned in rows:
        with temp_engine() as engine:
            assert [made.text for made in engine.add(said, scope="ann").derived] == [learned]


def test_no_file_names_where_packages_come_from() -> None:
    """The requirement lists hold hashes and no index, so that any mirror serves."""
    wrong = [
        path.name
        for path in (ROOT / "requirements").iterdir()
        if re.search(r"https?://|--(extra-)?index-url", path.read_text("utf-8"))
    ]
    assert wrong == []
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text("utf-8")
        assert len(re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE)) <= text.count(
            "--hash=sha256:"
        ), path.name


def masked(text: str) -> list[str]:
    """Lines without what differs from run to run:
    ids, numbers, and the reasons that hang on them.
    """
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith(("why:", "Steps:"))
    ]
    return [
        re.sub(r"\d[\d.:-]*", "#", re.sub(r"\b[0-9a-z]{26}\b", "ID", line)).rstrip()
        for line in lines
    ]


def test_the_recording_in_the_readme_is_true(tmp_path: Path) -> None:
    """The commands shown print what is shown, apart from ids, numbers and times."""
    shown = next(
        body
        for kind, body in FENCE.findall((ROOT / "README.md").read_text("utf-8"))
        if kind == "console"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(ROOT / "examples" / "recording.sh")],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == masked(shown)
