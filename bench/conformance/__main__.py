"""Run other projects' own tests against our adapters and print one table.

    python -m bench.conformance [--only NAME] [--keep FOLDER] [--json PATH]

The suites are fetched from the package registry, unpacked and run in a temporary folder, each in an
environment of its own; nothing of them is kept in the repository. The last line of the table is the
sum; below it stands why a test is deselected.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from bench.conformance import mcpscenarios
from bench.conformance.environments import ROOT, make_environment
from bench.conformance.suites import SUITES, Suite, SuiteResult

OUT = ROOT / "bench" / "out" / "conformance.json"
SHIMS = Path(__file__).with_name("shims")
PYTEST_INI = "[pytest]\nasyncio_mode = auto\npythonpath = .\nfilterwarnings = ignore\n"
TOOLS = ("pip", "pytest", "pytest-asyncio")


def prepare(suite: Suite, folder: Path) -> Path:
    """Make the environment and lay out the tests; return the environment's Python."""
    python = make_environment(folder / "environment", [*suite.requirements, *TOOLS], editable=True)
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "pytest.ini").write_text(PYTEST_INI, "utf-8")
    if not suite.source:
        (work / "tests").mkdir()
        shutil.copy(SHIMS / f"{suite.shim}.py", work / "tests" / f"test_{suite.shim}.py")
        return python
    fetched = folder / "fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    sdist = ("--no-deps", "--no-binary", suite.source.partition("==")[0])
    download = (
        "-m",
        "pip",
        "download",
        "-q",
        "--disable-pip-version-check",
        *sdist,
        "-d",
        str(fetched),
    )
    subprocess.run([str(python), *download, suite.source], check=True)
    (archive,) = fetched.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(fetched, filter="data")
    (unpacked,) = (path for path in fetched.iterdir() if path.is_dir())
    for name in suite.copied:
        source = unpacked / name
        target = work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    shutil.copy(SHIMS / f"{suite.shim}.py", work / "conftest.py")
    return python


def run_pytest(
    python: Path, folder: Path, arguments: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(folder / "home"),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, check=False, cwd=folder / "work", env=env, capture_output=True, text=True
    )


def run_suite(suite: Suite, folder: Path) -> SuiteResult:
    """Run a suite; a test that is not deselected and does not pass has failed."""
    start = time.perf_counter()
    python = prepare(suite, folder)
    collected = run_pytest(python, folder, [*suite.tests, "--collect-only"])
    reference = [line for line in collected.stdout.splitlines() if "::" in line]
    if collected.returncode:
        sys.exit(
            f"{suite.name}: its tests cannot be"
            f" collected.\n{collected.stdout[-3000:]}{collected.stderr[-3000:]}"
        )
    unknown = [
        name for name in suite.deselected if not any(line.startswith(name) for line in reference)
    ]
    if unknown:
        sys.exit(f"{suite.name}: there is no test {', '.join(unknown)}.")
    report = folder / "report.xml"
    done = run_pytest(
        python,
        folder,
        [
            *suite.tests,
            *(f"--deselect={name}" for name in suite.deselected),
            f"--junitxml={report}",
        ],
    )
    (folder / "output.txt").write_text(done.stdout + done.stderr, "utf-8")
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = tuple(
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if len(case) and case[0].tag in ("failure", "error")
    )
    skipped = sum(1 for case in cases if len(case) and case[0].tag == "skipped")
    passed = len(cases) - len(failed) - skipped
    left = sum(line.startswith(tuple(suite.deselected)) for line in reference)
    return SuiteResult(
        suite.name,
        suite.source,
        passed,
        len(reference),
        failed,
        left,
        round(time.perf_counter() - start, 1),
    )


def print_table(results: Sequence[SuiteResult], reasons: Sequence[str]) -> None:
    """Print the table, what failed, and why tests are deselected."""
    print(
        f"\n{'suite':<30}{'passed':>8}{'reference':>11}{'share':>8}{'failed':>8}{'deselected':>12}{'seconds':>9}"
    )
    for each in results:
        row = f"{each.name:<30}{each.passed:>8}{each.reference:>11}{each.share:>8.1%}{len(each.failed):>8}{each.deselected:>12}"
        print(f"{row}{each.seconds:>9}")
    for each in results:
        for name in each.failed:
            print(f"failed: {each.name}: {name}")
    print("\nDeselected, with the reason:")
    for reason in reasons:
        print(f"  {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="suites whose name holds this")
    parser.add_argument(
        "--keep", type=Path, help="folder in which environments and tests stay for a look"
    )
    parser.add_argument("--json", type=Path, default=OUT)
    given = parser.parse_args()
    chosen = [suite for suite in SUITES if given.only.lower() in suite.name.lower()]
    reasons = [
        f"{suite.name}: {name.rpartition('::')[2]}: {reason}"
        for suite in chosen
        for name, reason in suite.deselected.items()
    ]
    results = []
    scenarios = given.only.lower() in mcpscenarios.NAME.lower()
    with tempfile.TemporaryDirectory(prefix="engrams-conformance-") as temporary:
        for suite in chosen:
            print(f"{suite.name} …", flush=True)
            results.append(run_suite(suite, (given.keep or Path(temporary)).resolve() / suite.shim))
        obstacle = mcpscenarios.find_obstacle() if scenarios else ""
        if scenarios and not obstacle:
            print(f"{mcpscenarios.NAME} …", flush=True)
            results.append(
                mcpscenarios.run_scenarios((given.keep or Path(temporary)).resolve() / "serve_mcp")
            )
            reasons += [
                f"{mcpscenarios.NAME}: {name}: {reason}"
                for name, reason in mcpscenarios.DESELECTED.items()
            ]
    print_table(results, reasons)
    if obstacle:
        print(obstacle)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n", "utf-8")
    return int(any(each.failed for each in results))


if __name__ == "__main__":
    sys.exit(main())
