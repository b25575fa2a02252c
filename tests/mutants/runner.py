"""Apply mutants in copies of the tree and run the one test that each must fail.

``Runner.run`` is the entrance. The tree is copied once as it is at the start, so that whoever edits it
meanwhile does no harm; the copies that work are made of hard links to that one. A changed file is
replaced, never written through its link. Results are kept by a hash of source, test and mutant,
so that an interrupted run goes on where it ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from queue import Queue
from typing import Any

from tests.mutants.catalogue import AnchorError, Mutant

TIME_LIMIT = 240.0
"""Seconds that one test may take, at least."""
SLOWER = 10
"""How many times longer than unchanged a test may take with a mutant; the machine may be busy."""
TRIES = 2
"""Runs of an unchanged test before it counts as failing: the machine may be busy."""


class FolderInUseError(RuntimeError):
    """Another run works in the same folder."""


@dataclass(frozen=True)
class Result:
    """What became of one test in one copy."""

    verdict: str
    """``killed``; ``survived``: the test passed; ``wrong error``: it failed by another error than
    an assertion or the promised one; ``no import``; ``no anchor``; ``red before``: the test fails
    without the change; ``timeout``; and ``green`` for a test that passes unchanged."""
    detail: str = ""
    seconds: float = 0.0


class Runner:
    """Runs mutants of the tree at ``root`` in copies below ``work``.

    A result of an earlier run holds while the source and the test are the same. With ``near`` it
    holds while the changed file and the test are: for the hours in which mutants are written.
    """

    def __init__(
        self, root: Path, work: Path, *, package: str = "engrams", near: bool = False
    ) -> None:
        self._root = root
        self._base = work / "base"
        self._work = work
        self._package = package
        self._near = near
        self._results_file = work / "results.json"
        self._results = self._read_results()
        self._lock = threading.Lock()
        self._baseline_locks: dict[str, threading.Lock] = {}
        self._source_hash = ""
        self._copies: Queue[Path] = Queue()

    def run(
        self, mutants: Sequence[Mutant], jobs: int, tell: Callable[[Mutant, Result], None]
    ) -> list[tuple[Mutant, Result]]:
        """Run all of them, ``jobs`` at a time, and return their results in the given order.

        FolderInUseError: another run works in the folder.
        """
        self._work.mkdir(parents=True, exist_ok=True)
        with (self._work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderInUseError(f"Another run works in {self._work}.") from None
            return self._run_all(mutants, jobs, tell)

    def _run_all(
        self, mutants: Sequence[Mutant], jobs: int, tell: Callable[[Mutant, Result], None]
    ) -> list[tuple[Mutant, Result]]:
        self._copy_tree(self._root, self._base, shutil.copy2)
        self._source_hash = _hash_files(
            (
                path
                for path in sorted((self._base / "src").rglob("*"))
                if path.suffix in (".py", ".toml", ".txt", ".md")
            ),
            self._base,
        )
        self._copies = Queue()
        for number in range(jobs):
            copy = self._work / f"copy{number}"
            self._copy_tree(self._base, copy, os.link)
            self._copies.put(copy)

        def run_and_tell(mutant: Mutant) -> tuple[Mutant, Result]:
            result = self.run_mutant(mutant)
            tell(mutant, result)
            return mutant, result

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(run_and_tell, mutants))

    def run_mutant(self, mutant: Mutant) -> Result:
        """Return the result of one mutant, from an earlier run where nothing changed since."""
        try:
            changed = mutant.apply(self._base)
        except AnchorError as error:
            return Result("no anchor", str(error))
        file = self._test_file(mutant.test)
        if not file.is_file():
            return Result("no anchor", f"{mutant.key}: there is no test file {file}")
        state = self._state_hash(file, mutant.file(self._base))
        if (earlier := self._earlier(mutant.key, state)) is not None:
            return earlier
        if (unchanged := self._run_unchanged(mutant.test, file)).verdict != "green":
            return Result(
                "red before", f"{mutant.test} fails without the change: {unchanged.detail}"
            )
        result = self._run_in_copy(mutant, changed, max(TIME_LIMIT, SLOWER * unchanged.seconds))
        if result.verdict != "timeout":
            self._keep(mutant.key, state, result)
        return result

    def _run_unchanged(self, test: str, file: Path) -> Result:
        """Run a test in a copy without a change, once for each state of source and test."""
        state = self._state_hash(file)
        with self._lock:
            lock = self._baseline_locks.setdefault(test, threading.Lock())
        with lock:
            if (earlier := self._earlier(test, state)) is not None:
                return earlier
            copy = self._copies.get()
            try:
                for _ in range(TRIES):
                    result = self._run_test(copy, test)
                    if result.verdict == "survived":
                        result = Result("green", "", result.seconds)
                        self._keep(test, state, result)
                        break
            finally:
                self._copies.put(copy)
        return result

    def _run_in_copy(self, mutant: Mutant, changed: str, time_limit: float) -> Result:
        copy = self._copies.get()
        file = mutant.file(copy)
        try:
            _replace(file, changed)
            return self._run_test(copy, mutant.test, mutant, time_limit)
        finally:
            _link_anew(self._base / file.relative_to(copy), file)
            self._copies.put(copy)

    def _run_test(
        self,
        copy: Path,
        test: str,
        mutant: Mutant | None = None,
        time_limit: float = TIME_LIMIT,
    ) -> Result:
        report_file = copy.parent / f"{copy.name}.report.json"
        report_file.unlink(missing_ok=True)
        variables = {
            "PYTHONPATH": os.pathsep.join((str(copy / "src"), str(copy))),
            "MUTANT_REPORT": str(report_file),
            "MUTANT_MODULE": mutant.module if mutant else "",
            "MUTANT_PACKAGE": self._package,
        }
        words = ["-p", "tests.mutants.verdict", "-p", "no:cacheprovider", "-p", "no:xdist"]
        # Outside of the checkout: its ignore rules must not count for what a test writes.
        temporary = Path(tempfile.gettempdir(), f"mutants-{os.getpid()}-{copy.name}")
        words += ["-q", "-x", "--no-header", f"--basetemp={temporary}", test]
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words],
            cwd=copy,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        try:
            output, _ = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return Result("timeout", "", time.monotonic() - started)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        seconds = round(time.monotonic() - started, 1)
        if not report_file.exists():
            return Result("no report", output[-2000:], seconds)
        report = json.loads(report_file.read_text("utf-8"))
        if not str(report["package"]).startswith(str(copy)):
            return Result("no import", f"it ran {report['package']}, not the copy", seconds)
        verdict, detail = judge(report, copy, mutant.error if mutant else "")
        return Result(
            verdict, detail or (output[-1500:] if verdict == "no report" else ""), seconds
        )

    def _copy_tree(self, source: Path, target: Path, place: Callable[[Path, Path], object]) -> None:
        """Put every file of a tree into another one."""
        shutil.rmtree(target, ignore_errors=True)
        for name in self._list_files(source):
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if (source / name).is_file():
                place(source / name, path)

    def _list_files(self, tree: Path) -> Iterable[str]:
        """List the files of a checkout that git does not ignore; of another tree all."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        if (tree / ".git").exists():
            listed = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
            return [name for name in listed.stdout.split("\0") if name]
        every = (path for path in tree.rglob("*") if path.is_file())
        return [str(path.relative_to(tree)) for path in every if "__pycache__" not in path.parts]

    def _test_file(self, test: str) -> Path:
        return self._base / test.partition("::")[0]

    def _state_hash(self, test_file: Path, changed_file: Path | None = None) -> str:
        """Hash of the source and of what the test is made of."""
        folders = (test_file.parent, test_file.parent.parent)
        shared = [path for folder in folders for path in sorted(folder.glob("*.py"))]
        parts = [test_file, *(path for path in shared if not path.name.startswith("test_"))]
        if not self._near:
            return self._source_hash + _hash_files(parts, self._base)
        return _hash_files([test_file, *([changed_file] if changed_file else [])], self._base)

    def _earlier(self, name: str, state: str) -> Result | None:
        kept_state, result = self._results.get(name, ("", None))
        return result if kept_state == state else None

    def _read_results(self) -> dict[str, tuple[str, Result]]:
        if not self._results_file.exists():
            return {}
        rows = json.loads(self._results_file.read_text("utf-8"))
        return {name: (row.pop("state"), Result(**row)) for name, row in rows.items()}

    def _keep(self, name: str, state: str, result: Result) -> None:
        with self._lock:
            self._results[name] = (state, result)
            self._work.mkdir(parents=True, exist_ok=True)
            written = self._results_file.with_suffix(".new")
            rows = {
                known: {"state": known_state, **asdict(row)}
                for known, (known_state, row) in self._results.items()
            }
            written.write_text(json.dumps(rows, indent=0), "utf-8")
            written.replace(self._results_file)


def judge(report: dict[str, Any], copy: Path, error: str) -> tuple[str, str]:
    """Return verdict and detail of a report of the plugin.

    A test kills a mutant by an assertion in its own code, ``(record,) = …`` among them, or by
    ``error``. An assertion that only
    says that a request was answered by status 500 means that the change broke the program.
    """
    if "import_error" in report:
        return "no import", report["import_error"]
    failures = [row for row in report["phases"] if row["outcome"] == "failed"]
    if not report["phases"]:
        return "no report", ""
    if not failures:
        skipped = any(row["outcome"] == "skipped" for row in report["phases"])
        return ("no report", "the test was skipped") if skipped else ("survived", "")
    first = failures[0]
    detail = f"{first['error']}: {first['message']}"
    if error:
        return ("killed" if first["error"] == error else "wrong error"), detail
    in_test = first["raised_in"].startswith(str(copy / "tests"))
    unpacked = first["error"] == "ValueError" and "values to unpack" in first["message"]
    asserts = first["error"] == "AssertionError" or unpacked
    crashed = first["message"].startswith("500")
    # pytest itself raises Failed, where an error that a test waits for does not come.
    asserted = first["error"] == "Failed" or (asserts and in_test and not crashed)
    return ("killed" if asserted else "wrong error"), detail


def _replace(file: Path, text: str) -> None:
    """Write a new file in the place of a hard link, and drop what was compiled from the old."""
    file.unlink()
    file.write_text(text, "utf-8")
    _drop_compiled(file)


def _link_anew(source: Path, file: Path) -> None:
    file.unlink()
    os.link(source, file)
    _drop_compiled(file)


def _drop_compiled(file: Path) -> None:
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def _hash_files(files: Iterable[Path], root: Path) -> str:
    digest = blake2b(digest_size=8)
    for file in files:
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
