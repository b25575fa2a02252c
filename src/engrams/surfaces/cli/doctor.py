"""Command doctor: check that everything works."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.errors import EngramsError, StoreError
from engrams.installation import install_hint
from engrams.ports import EMBED, JobSpec
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, paint, say
from engrams.surfaces.cli.running_server import find_server
from engrams.surfaces.cli.status_commands import format_mistakes

if TYPE_CHECKING:
    from engrams.core import Meta
    from engrams.engine import MemoryEngine
    from engrams.settings import LoadedSettings, Settings

app = new_app()

_LOW = 1_000_000_000
_FULL = 100_000_000
_COUNTED = 1_000
"""Memories without a vector that are counted, at most."""
_EXTRAS = {
    "server": ("fastapi", "uvicorn"),
    "local": ("onnxruntime", "tokenizers"),
    "vault": ("dulwich", "watchfiles"),
    "documents": ("pypdf", "PIL"),
    "ocr": ("faster_paddle",),
    "encrypted": ("cryptography", "keyring"),
}
_COLOURS = {"ok": "green", "info": "dim", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True, slots=True)
class DoctorCheckResult:
    """Hold the result of one check, with a hint."""

    name: str
    state: Literal["ok", "info", "warn", "fail"]
    detail: str
    hint: str = ""


@app.command()
@flatten_options
def doctor(
    options: GlobalOptions,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair derived data that can be rebuilt.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not call models on other machines.")
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Accept memories that no repair brought back, or that another program changed.",
        ),
    ] = False,
) -> None:
    """Check settings, disk, store, models and jobs.

    Ends with code 1 if something fails, or memories are lost and nobody has accepted it.
    """
    findings = list(run_checks(options, repair=repair, offline=offline, accept=accept))
    if options.json:
        emit({"ok": all(finding.state != "fail" for finding in findings), "checks": findings})
    else:
        for finding in findings:
            say(
                f"{paint(finding.state.ljust(4), _COLOURS[finding.state])} "
                f" {finding.name.ljust(10)}  {clean(finding.detail)}"
            )
            if finding.hint:
                say(f"      {paint('do:', 'cyan')} {clean(finding.hint)}")
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)


def run_checks(
    options: GlobalOptions, *, repair: bool, offline: bool, accept: bool = False
) -> Iterator[DoctorCheckResult]:
    """Run every check in order; skip those that cannot run."""
    yield _check_versions()
    try:
        loaded = options.load()
    except EngramsError as problem:
        yield DoctorCheckResult("settings", "fail", problem.message, problem.hint)
        return
    settings = loaded.settings
    yield _check_settings(loaded)
    yield from _check_home(settings)
    yield from _check_encryption(settings)
    yield from _check_server(settings)
    yield from _check_upstream(settings, offline=offline)
    from engrams import model_setup

    if (wrong := model_setup.find_chat_problem(settings.chat)) is not None:
        yield DoctorCheckResult("chat", "fail", wrong.message, wrong.hint)
        options = replace(options, overrides=[*options.overrides, "chat.provider=none"])
    try:
        if repair:
            yield from _rescue(options, settings)
        with options.open(needs_owner=False) as (engine, scope):
            yield from _check_engine(
                engine, settings, repair=repair, offline=offline, accept=accept
            )
            yield from _check_separation(engine, scope)
    except EngramsError as problem:
        yield DoctorCheckResult(
            "store",
            "fail",
            problem.message,
            problem.hint or "Restore a backup, or move the home folder aside.",
        )
    yield from _check_extras()


def _check_settings(loaded: LoadedSettings) -> DoctorCheckResult:
    """Name the preset, and the settings whose names in the home's file are of an earlier version."""
    preset = f"preset {loaded.settings.preset}; `engrams config` shows all"
    if not loaded.renamed:
        return DoctorCheckResult("settings", "ok", preset)
    return DoctorCheckResult(
        "settings",
        "warn",
        f"{preset}; {len(loaded.renamed)} with the name of an earlier version",
        f"Rename them in {loaded.settings.config_file}: {', '.join(loaded.renamed)}.",
    )


def _rescue(options: GlobalOptions, settings: Settings) -> Iterator[DoctorCheckResult]:
    """Bring memory back from a backup or the vault."""
    try:
        with options.open(needs_owner=False):
            return
    except StoreError as problem:
        if "damaged" not in problem.message:
            raise
    from engrams.admin import rescue

    yield DoctorCheckResult(
        "rescue",
        "warn",
        rescue(settings),
        "Check `engrams list`: later memories are missing.",
    )


def _check_versions() -> DoctorCheckResult:
    try:
        driver = import_module("apsw")
        sqlite = driver.sqlite_lib_version() + (
            " with ciphers" if hasattr(driver, "mc_version") else ""
        )
    except (ImportError, AttributeError):
        return DoctorCheckResult(
            "versions",
            "fail",
            "apsw cannot be loaded",
            f"Install engrams again: {install_hint('all')} --force-reinstall",
        )
    version = metadata.version("engrams")
    return DoctorCheckResult(
        "versions",
        "ok",
        f"engrams {version}, Python {platform.python_version()}, SQLite {sqlite}, {sys.platform}",
    )


def _check_home(settings: Settings) -> Iterator[DoctorCheckResult]:
    """Check that the home can be written and has space; tell of test mode."""
    home = settings.home.expanduser()
    existing = next((folder for folder in (home, *home.parents) if folder.exists()), Path("/"))
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        yield DoctorCheckResult(
            "home",
            "fail",
            f"{home} cannot be written",
            "Give another --home, or change its permissions.",
        )
        return
    yield DoctorCheckResult(
        "home", "ok", f"{home}" if existing == home else f"{home} (created on the first write)"
    )
    if settings.test:
        yield DoctorCheckResult(
            "test mode", "info", f"{home.parent} is not touched", "Turn `test` off to use it."
        )
    free_bytes = shutil.disk_usage(existing).free
    state: Literal["ok", "warn", "fail"]
    if free_bytes < _FULL:
        state = "fail"
    elif free_bytes < _LOW:
        state = "warn"
    else:
        state = "ok"
    yield DoctorCheckResult(
        "disk",
        state,
        f"{free_bytes / 1e9:.1f} GB free",
        "" if state == "ok" else "Free some space: nothing can be stored on a full disk.",
    )


def _check_server(settings: Settings) -> Iterator[DoctorCheckResult]:
    """Report a running server, and a warning if its models differ."""
    if (server := find_server(settings)) is None:
        return
    is_alike = server.is_alike
    difference = (
        ""
        if is_alike
        else (
            " with another embedder or upstream:"
            f" {', '.join(name for name in server.models if name)}"
        )
    )
    hint = (
        ""
        if is_alike
        else (
            "Options of `engrams serve` are valid for that process only: put them into config.toml,"
            " which every command reads."
        )
    )
    yield DoctorCheckResult(
        "server", "info" if is_alike else "warn", f"runs at {server.url}{difference}", hint
    )


def _check_upstream(settings: Settings, *, offline: bool) -> Iterator[DoctorCheckResult]:
    """Try to connect to the model server behind the proxy."""
    from engrams.model_setup import find_connection_problem

    url = settings.serve.upstream
    if not url:
        return
    name = url.rpartition("@")[2]
    if offline:
        yield DoctorCheckResult("upstream", "info", f"{name}, not called")
    elif problem := find_connection_problem(url):
        yield DoctorCheckResult(
            "upstream",
            "fail",
            f"{name} cannot be reached ({problem})",
            "Start it, or correct serve.upstream.",
        )
    else:
        yield DoctorCheckResult("upstream", "ok", f"{name} takes connections")


def _check_encryption(settings: Settings) -> Iterator[DoctorCheckResult]:
    """Report how the home is encrypted, if the database is in it."""
    if settings.incognito or settings.store.url or not settings.home.expanduser().is_dir():
        return
    from engrams.admin import read_encryption_status

    try:
        status = read_encryption_status(settings)
    except EngramsError as problem:
        yield DoctorCheckResult("encryption", "fail", problem.message, problem.hint)
        return
    vault = f"; Markdown in {status.readable} stays readable" if status.readable else ""
    if status.changing:
        yield DoctorCheckResult(
            "encryption",
            "warn",
            "a change of the key was interrupted",
            "Finish it with `engrams encrypt` or `engrams encrypt --off`.",
        )
    elif not status.encrypted:
        yield DoctorCheckResult("encryption", "info", "off; `engrams encrypt` turns it on")
    elif status.plain:
        names = ", ".join(path.name for path in status.plain)
        yield DoctorCheckResult(
            "encryption",
            "warn",
            f"plain files in an encrypted home: {names}",
            "`engrams encrypt` encrypts them.",
        )
    else:
        yield DoctorCheckResult(
            "encryption", "ok", f"on, {len(status.files)} files, key: {status.source}{vault}"
        )


def _check_engine(
    engine: MemoryEngine, settings: Settings, *, repair: bool, offline: bool, accept: bool = False
) -> Iterator[DoctorCheckResult]:
    report = engine.check(repair)
    files = report.get("vault", {})
    problems = [
        str(problem)
        for problem in report.get("problems", ())
        if problem not in files.get("problems", ())
    ]
    mended = [str(problem) for problem in report.get("repaired", ())]
    hint = (
        "engrams doctor --repair rebuilds derived data."
        if not repair
        else "Export the readable memories, then start a new home."
    )
    is_only_altered = bool(report.get("altered")) and not problems and not report.get("aside")
    if report.get("ok") or is_only_altered or (files.get("problems") and not problems):
        yield DoctorCheckResult(
            "store",
            "ok",
            f"{report.get('bytes', 0) / 1e6:.1f} MB"
            + (f"; repaired: {', '.join(mended)}" if mended else ""),
        )
    else:
        yield DoctorCheckResult("store", "fail", "; ".join(problems) or "damaged", hint)
    yield from _check_seals(engine, report, accept=accept)
    if report.get("lost"):
        if accept:
            Path(report["losses"]).unlink(missing_ok=True)
        hint = (
            "Look for these in a backup (`engrams recover`). `engrams doctor --accept` ends this"
            " warning."
        )
        yield DoctorCheckResult(
            "lost",
            "info" if accept else "fail",
            "\n      ".join(report["lost"]),
            "Accepted." if accept else hint,
        )
    yield from _check_files(settings, accept=accept)
    yield from _check_vectors(engine, repair=repair)
    if files:
        yield _check_vault(files)
    if engine.skills is not None:
        yield _check_skills(engine.skills.describe())
    remote = settings.embed.provider in ("openai", "ollama")
    yield (
        DoctorCheckResult("embedder", "info", f"{engine.embedder.card.id}, not called")
        if remote and offline
        else _check_embedder(engine)
    )
    yield from _check_cosines(engine, settings)
    yield _check_chat(engine, offline=offline)
    yield from _check_judge(engine, settings, offline=offline)
    state = engine.status()
    yield from _check_mistakes(state["mistakes"])
    yield _check_jobs(state)


def _check_seals(
    engine: MemoryEngine, report: Meta, *, accept: bool
) -> Iterator[DoctorCheckResult]:
    """Name the memories that another program changed; ``accept``: trust them as they are."""
    if not report.get("altered"):
        return
    if accept:
        engine.store.trust_altered()
        yield DoctorCheckResult("seals", "info", "Accepted: what is there is trusted.")
        return
    yield DoctorCheckResult(
        "seals",
        "fail",
        "\n      ".join(map(str, report["altered"])),
        "Memories that were changed are left out of all answers. `engrams history ID` shows earlier"
        " versions, and a backup"
        " has them whole (`engrams recover`). `engrams doctor --accept` trusts what is there now.",
    )


def _check_files(settings: Settings, *, accept: bool) -> Iterator[DoctorCheckResult]:
    """Name keys, lines of the audit log and settings that another program changed or took away.

    ``accept``: trust them as they are.
    """
    from engrams import admin

    if accept:
        admin.trust_files(settings)
    for name, problems in admin.find_file_problems(settings).items():
        yield DoctorCheckResult(
            name,
            "warn" if name == "settings" else "fail",
            "\n      ".join(problems),
            "`engrams doctor --accept` trusts what is there now."
            + (
                " A key that cannot be read opens nothing: add a new one." if name == "keys" else ""
            ),
        )


def _check_vectors(engine: MemoryEngine, *, repair: bool) -> Iterator[DoctorCheckResult]:
    """Report how many memories have no vector.

    ``repair``: queue the job that makes them.
    """
    card = engine.embedder.card
    missing = len(engine.store.missing(card.id, "", _COUNTED)) if card.dimension else 0
    if not missing:
        return
    problem = (
        f"{missing:,}{' or more' if missing == _COUNTED else ''} memories have no vector of"
        f" {card.id}, and are found by words alone"
    )
    is_queued = any(
        engine.status()["jobs"].get(EMBED, {}).get(state) for state in ("waiting", "running")
    )
    if repair and not is_queued:
        engine.store.enqueue((JobSpec(EMBED, card.id),), engine.now())
        is_queued = True
    if is_queued:
        yield DoctorCheckResult(
            "vectors",
            "info",
            problem,
            "A job makes them: a running server, `engrams work` or `engrams status --wait`.",
        )
    else:
        yield DoctorCheckResult(
            "vectors", "warn", problem, "engrams doctor --repair starts a job that makes them."
        )


def _check_vault(files: Mapping[str, Any]) -> DoctorCheckResult:
    problems = "\n      ".join(files["problems"])
    if problems:
        return DoctorCheckResult(
            "vault",
            "warn",
            problems,
            "Repair, move or remove these files; `engrams sync` checks again.",
        )
    return DoctorCheckResult("vault", "ok", f"{files['files']} files in {files['path']}")


def _check_skills(skills: Mapping[str, Any]) -> DoctorCheckResult:
    if skills["problems"]:
        return DoctorCheckResult(
            "skills",
            "warn",
            "\n      ".join(skills["problems"]),
            "These skills are left out until their files are repaired.",
        )
    return DoctorCheckResult("skills", "ok", f"{len(skills['skills'])} in {skills['folder']}")


def _check_embedder(engine: MemoryEngine) -> DoctorCheckResult:
    start = time.perf_counter()
    try:
        engine.embedder.embed(["A sentence to try it."])
    except EngramsError as problem:
        return DoctorCheckResult(
            "embedder",
            "fail",
            problem.message,
            problem.hint or "Search continues by words; correct embed.* in the settings.",
        )
    card = engine.embedder.card
    return DoctorCheckResult(
        "embedder",
        "ok",
        f"{card.id}, {card.dimension} dimensions, {(time.perf_counter() - start) * 1000:.0f} ms",
    )


def _check_separation(engine: MemoryEngine, scope: tuple[str, ...]) -> Iterator[DoctorCheckResult]:
    """Warn where an embedder tells the person's messages apart less well than the built-in table."""
    card = engine.embedder.card
    if card.inline or not card.dimension:
        return
    compared = engine.inspect.compare_embedder(scope)
    if compared is not None and not compared.trust:
        yield DoctorCheckResult(
            "embedder",
            "warn",
            f"{card.id} tells the last {compared.turns} messages apart by {compared.stored:.2f}"
            f" standard deviations, the built-in table by {compared.candidate:.2f}; so words count"
            " instead of its vectors",
            'Choose a model that knows the language, or set embed.provider = "builtin".',
        )


def _check_cosines(engine: MemoryEngine, settings: Settings) -> Iterator[DoctorCheckResult]:
    """Report the model of the preset's cosines, and whether the model in use gets them translated.

    A cosine that means "near" for one embedder means little for another one.
    """
    from engrams.composition import translate_preset

    model = settings.embed.cosine_model
    card = engine.embedder.card
    cosines = translate_preset(settings, card)
    if cosines and all(cosine.is_translated for cosine in cosines):
        yield DoctorCheckResult(
            "cosines",
            "ok",
            f"{len(cosines)} of preset {settings.preset}, for {model}, converted for {card.id}",
        )
    elif cosines:
        hint = (
            f"Where too much or too little is found, set {cosines[0].name} and its like yourself;"
            " `engrams config` shows them."
        )
        detail = f"of preset {settings.preset}, for {model}; not converted, because {card.id} has no scale"
        yield DoctorCheckResult("cosines", "info", detail, hint)


def _check_chat(engine: MemoryEngine, *, offline: bool) -> DoctorCheckResult:
    """Ask the language model, and measure it."""
    model = engine.chat_model
    if model is None:
        return DoctorCheckResult(
            "chat",
            "info",
            "no language model is set; rules extract facts",
            "" if offline else "`engrams init` finds one and sets it.",
        )
    if offline:
        return DoctorCheckResult("chat", "info", f"{model.name}, not called")
    from engrams import model_setup

    check = model_setup.check_model(model)
    return DoctorCheckResult("chat", check.state, check.detail, check.hint)


def _check_judge(
    engine: MemoryEngine, settings: Settings, *, offline: bool
) -> Iterator[DoctorCheckResult]:
    """Ask the decision model, where there is one."""
    section = settings.judge
    if section.provider == "none":
        return
    if offline:
        yield DoctorCheckResult("judge", "info", f"{section.model}, not called")
        return
    from engrams import model_setup

    check = model_setup.check_judge(section, engine.now)
    yield DoctorCheckResult("judge", check.state, check.detail, check.hint)


def _check_mistakes(mistakes: Mapping[str, int]) -> Iterator[DoctorCheckResult]:
    """Tell what the model's answers got wrong, which did not become memories."""
    if mistakes:
        yield DoctorCheckResult(
            "answers",
            "info",
            f"not stored since the home was created: {format_mistakes(mistakes)}",
            "Many of them: a larger model follows instructions better.",
        )


def _check_jobs(state: Any) -> DoctorCheckResult:
    dead = len(state["dead"])
    lag = state["lag_seconds"]
    if dead:
        return DoctorCheckResult(
            "jobs",
            "warn",
            f"{dead} failed",
            "`engrams status` shows the errors, `engrams retry` runs them again.",
        )
    if lag > 3600:
        return DoctorCheckResult(
            "jobs",
            "warn",
            f"the oldest has waited {lag / 3600:.1f} h",
            "`engrams status --wait` runs the jobs now.",
        )
    return DoctorCheckResult("jobs", "ok", "nothing failed")


def _check_extras() -> Iterator[DoctorCheckResult]:
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        hint = install_hint(extra) if missing else ""
        yield DoctorCheckResult(
            "extra", "info", f"{extra}: not installed" if missing else f"{extra}: installed", hint
        )
