"""Log lines of the long-running commands: one line each, with time and level."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from engrams.core import Scope
from engrams.program.log_lines import write_log_lines
from engrams.program.registry import load_mcp_profile
from engrams.settings import LogSettings
from engrams.testing import temp_engine

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_a_server_says_when_and_how_grave(home: Path) -> None:
    """A model server that cannot be reached is one line of `engrams serve`, with time and level."""
    command = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--upstream", "http://127.0.0.1:9/v1"],
        env={**os.environ, "ENGRAMS_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url = next(word for word in line.split() if word.startswith("http")).removesuffix("/v1")
            asked = {"model": "m", "messages": [{"role": "user", "content": "What is a heron?"}]}
            httpx2.post(f"{url}/v1/chat/completions", json=asked, timeout=60)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()  # or leaving the block would wait for ever after a failure
    notice, *lines = errors.splitlines()
    assert "cannot be reached" in notice
    assert [line for line in lines if not re.match(rf"{TIME} WARNING engrams\.\S+: ", line)] == []
    assert any("the upstream http://127.0.0.1:9/v1 fails" in line for line in lines), lines


def test_no_package_wraps_a_line() -> None:
    """A long message stays one line where the MCP package has set up its own log."""
    from engrams.surfaces.mcp.server import create_server

    stream = io.StringIO()
    with temp_engine() as engine, write_log_lines(LogSettings(), stream):
        create_server(engine, Scope(("user", "ann")), load_mcp_profile("engrams"))
        logging.getLogger("engrams.vault").warning("a note could not be read: %s", "x" * 300)
    (line,) = stream.getvalue().splitlines()
    assert re.match(rf"{TIME} WARNING engrams\.vault: a note could not be read: x+$", line)


def test_lines_are_json_where_that_is_set() -> None:
    """A program that collects logs reads time, level, logger, message and traceback by name."""
    stream = io.StringIO()
    with write_log_lines(LogSettings(format="json"), stream):
        try:
            raise ValueError("no\nsuch thing")
        except ValueError:
            logging.getLogger("engrams.jobs").exception("job %s failed", "learn")
    (line,) = stream.getvalue().splitlines()
    row = json.loads(line)
    assert re.fullmatch(TIME, row.pop("time"))
    assert "ValueError: no" in row.pop("traceback")
    assert row == {"level": "ERROR", "logger": "engrams.jobs", "message": "job learn failed"}


def test_the_level_decides_what_is_written() -> None:
    """Below the level nothing is written; afterwards logging is as it was before."""
    logger = logging.getLogger("engrams.any")
    stream = io.StringIO()
    with write_log_lines(LogSettings(level="info"), stream):
        logger.debug("not this")
        logger.info("this")
    logger.warning("nor this")
    assert [line.rpartition(": ")[2] for line in stream.getvalue().splitlines()] == ["this"]
