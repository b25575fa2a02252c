"""Run the Dockerfile's steps in a clean root and lint what cannot run: ``python
scripts/container.py [--lint]``.

No container engine is needed, but Linux, root, `unshare` and `chroot`. The base image is played by
this machine's /usr with a Python of the image's version at /usr/local (PYTHON_PREFIX names it);
/opt, /src, /data, /home and /tmp are empty. Every COPY, RUN, ENV, USER and WORKDIR is done; then a
key is made, the entry point serves without a network, and the health check must pass. Size counts
what the steps add; the base image has about 125 MB more.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
MAX_ADDED_MB = 125
START_SECONDS = 30
_ETC = (
    "group",
    "passwd",
    "shadow",
    "hosts",
    "resolv.conf",
    "nsswitch.conf",
    "ld.so.cache",
    "login.defs",
    "ssl",
    "pip.conf",
    "alternatives",
)
_BASE = {
    "PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin",
    "HOME": "/tmp",
    "LD_LIBRARY_PATH": "/usr/local/lib",
}
_PASSED = re.compile(r"(?i)^(PIP_|HTTPS?_PROXY|NO_PROXY|SSL_CERT|REQUESTS_CA)")


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, its continuations joined."""

    word: str
    text: str

    def values(self) -> list[str]:
        """The words: of the JSON form, or as a shell splits them."""
        return list(json.loads(self.text)) if self.text.startswith("[") else shlex.split(self.text)


@dataclass
class Stage:
    """One stage: its root folder and what ENV, USER and WORKDIR said."""

    root: Path
    folder: str = "/"
    user: str = "0"
    env: dict[str, str] = field(default_factory=lambda: dict(_BASE))


def parse(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text)).splitlines()
    return [
        Instruction(line.split()[0].upper(), line.split(None, 1)[1].strip())
        for line in lines
        if line.strip()
    ]


def lint(steps: list[Instruction], compose: dict[str, object]) -> list[str]:
    """What is wrong with the image and with the compose file."""
    words = [step.word for step in steps]
    last = {step.word: step for step in steps}
    final = steps[len(words) - 1 - words[::-1].index("FROM") :]
    found = [
        f"FROM {step.text}: name a version"
        for step in steps
        if step.word == "FROM" and not re.search(r":\d", step.text)
    ]
    found += [f"{step.word} {step.text}: use COPY" for step in steps if step.word == "ADD"]
    found += [
        f"COPY {source}: not in the context"
        for source in _sources(steps)
        if not _in_context(source)
    ]
    found += [
        f"RUN {step.text[:40]}…: pip leaves a cache"
        for step in steps
        if re.search(r"pip install (?!.*--no-cache-dir)", step.text)
    ]
    if not any(step.word == "USER" and step.text not in ("0", "root") for step in final):
        found.append("the last stage runs as root: name a USER")
    found += [
        f"{word}: use the JSON form, so that signals arrive"
        for word in ("ENTRYPOINT", "CMD")
        if not last[word].text.startswith("[")
    ]
    found += [
        f"the last stage has no {word}"
        for word in ("HEALTHCHECK", "VOLUME", "EXPOSE")
        if word not in {step.word for step in final}
    ]
    service = compose["services"]["engrams"]  # type: ignore[index]
    port = last["EXPOSE"].text
    found += [
        f"compose: {one}: publish on loopback only"
        for one in service["ports"]
        if not re.fullmatch(rf"127\.0\.0\.1:\d+:{port}", one)
    ]
    if not any(volume.endswith(f":{last['VOLUME'].text}") for volume in service["volumes"]):
        found.append("compose: the volume is not where the image keeps memory")
    return found


def _sources(steps: list[Instruction]) -> list[str]:
    return [
        source
        for step in steps
        if step.word == "COPY" and "--from" not in step.text
        for source in step.values()[:-1]
    ]


def _in_context(source: str) -> bool:
    """Is it in the repository and not ignored?"""
    rules = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line]
    kept = True
    for rule in rules:
        if fnmatch.fnmatch(source, rule.removeprefix("!")) or source.startswith(
            rule.removeprefix("!") + "/"
        ):
            kept = rule.startswith("!")
    return kept and (ROOT / source).exists()


def build(steps: list[Instruction], place: Path) -> Stage:
    """Do every step; return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(place)
    for step in steps:
        match step.word:
            case "FROM":
                stage = Stage(_clean_root(place / str(len(stages))))
                stages[step.text.rpartition(" ")[2]] = stage
            case "WORKDIR":
                stage.folder = step.text
                inside(stage, ["mkdir", "-p", step.text], as_root=True)
            case "ENV":
                stage.env |= dict(
                    pair.replace("$PATH", stage.env["PATH"]).split("=", 1) for pair in step.values()
                )
            case "ARG":
                stage.env |= dict([step.text.split("=", 1)])
            case "USER":
                stage.user = step.text
            case "COPY":
                _copy(step, stage, stages)
            case "RUN":
                print(f"RUN {step.text[:110]}", flush=True)
                inside(stage, ["sh", "-ec", step.text])
            case _:
                pass
    return stage


def _clean_root(root: Path) -> Path:
    for name in (
        "usr",
        "etc",
        "opt",
        "src",
        "data",
        "home",
        "tmp",
        "dev",
        "proc",
        "root",
        "var/tmp",
        "run",
    ):
        (root / name).mkdir(parents=True)
    root.chmod(0o755)
    (root / "tmp").chmod(0o1777)
    (root / "data").rmdir()
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name in _ETC:
        source = Path("/etc", name)
        if source.is_dir():
            shutil.copytree(source, root / "etc" / name, symlinks=True)
        elif source.exists():
            shutil.copy(source, root / "etc" / name)
    return root


def _copy(step: Instruction, stage: Stage, stages: dict[str, Stage]) -> None:
    words = step.values()
    origin = ROOT
    if words[0].startswith("--from="):
        origin = stages[words.pop(0).removeprefix("--from=")].root
    *sources, target = words
    for source in sources:
        end = stage.root / (
            target if target.startswith("/") else f"{stage.folder}/{target}"
        ).lstrip("/")
        path = origin / source.lstrip("/")
        end = end / path.name if target.endswith("/") else end
        end.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(
                path,
                end,
                symlinks=True,
                ignore=shutil.ignore_patterns("__pycache__"),
                dirs_exist_ok=True,
            )
        else:
            shutil.copy(path, end)


def inside(
    stage: Stage, command: list[str], *, as_root: bool = False, network: bool = True
) -> None:
    """Run a command in the stage's root. CalledProcessError: it failed."""
    env = {
        **{name: value for name, value in os.environ.items() if _PASSED.match(name)},
        **stage.env,
    }
    wheels = os.environ.get("PIP_FIND_LINKS", "")
    mounts = [
        ("--rbind", "/usr", "usr"),
        ("--bind", python_prefix(), "usr/local"),
        ("--rbind", "/dev", "dev"),
        ("--rbind", "/proc", "proc"),
    ]
    if wheels and Path(wheels).is_dir():
        (stage.root / wheels.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(("--bind", wheels, wheels.lstrip("/")))
    user = (
        ["--reuid", stage.user, "--regid", stage.user, "--clear-groups"]
        if stage.user != "0" and not as_root
        else []
    )
    lines = [
        f"mount {how} {shlex.quote(source)} {shlex.quote(str(stage.root / target))}"
        for how, source, target in mounts
    ]
    if not network:
        lines.append("ip link set lo up")
    clean = ["env", "-i", *(f"{name}={value}" for name, value in env.items())]
    run = (
        [
            *clean,
            "setpriv",
            *user,
            "--",
            "sh",
            "-ec",
            f'cd "{stage.folder}"; exec "$@"',
            "sh",
            *command,
        ]
        if not as_root
        else [*clean, *command]
    )
    lines.append(shlex.join(["exec", "chroot", str(stage.root), *run]))
    spaces = ["--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
    subprocess.run(["unshare", *spaces, "sh", "-ec", "\n".join(lines)], check=True)


def python_prefix() -> str:
    """The installation of Python that plays /usr/local of the image."""
    version = re.search(r"FROM python:([\d.]+)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert version
    if given := os.environ.get("PYTHON_PREFIX"):
        return given
    places = [*Path.home().glob(f".pyenv/versions/{version[1]}.*"), Path("/usr/local")]
    for place in places:
        if (place / "bin" / f"python{version[1]}").exists():
            return str(place)
    sys.exit(f"There is no Python {version[1]} here: name its folder in PYTHON_PREFIX.")


def serve(stage: Stage, steps: list[Instruction]) -> None:
    """Make a key, start what the image starts, and ask its health check."""
    last = {step.word: step for step in steps}
    entry = last["ENTRYPOINT"].values()
    start = shlex.join([*entry, *last["CMD"].values()])
    check = shlex.join(Instruction("CMD", last["HEALTHCHECK"].text.partition("CMD ")[2]).values())
    script = f"""
        test "$(id -u)" = {stage.user}
        {shlex.join(entry)} keys add container >/dev/null
        {start} & server=$!
        for second in $(seq {START_SECONDS}); do
            if {check} 2>/dev/null; then echo "healthy after $second s"; kill $server; wait $server || true; exit 0; fi
            kill -0 $server; sleep 1
        done
        exit 1"""
    inside(stage, ["sh", "-ec", script], network=False)


def added_megabytes(stage: Stage) -> float:
    """What the steps left in the last stage."""
    files = (
        Path(folder, name)
        for folder in ("opt", "data", "home")
        for folder, _, names in os.walk(stage.root / folder)
        for name in names
    )
    return sum(path.lstat().st_size for path in files) / 1e6


def main() -> int:
    """Lint, and unless ``--lint`` was said, build and serve."""
    steps = parse((ROOT / "Dockerfile").read_text("utf-8"))
    problems = lint(steps, yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8")))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems or "--lint" in sys.argv:
        return int(bool(problems))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="engrams-container-") as folder:
        stage = build(steps, Path(folder))
        serve(stage, steps)
        size = added_megabytes(stage)
    print(
        f"built and served in {time.monotonic() - began:.0f} s; {size:.0f} MB added, at most"
        f" {MAX_ADDED_MB}"
    )
    return int(size > MAX_ADDED_MB)


if __name__ == "__main__":
    sys.exit(main())
