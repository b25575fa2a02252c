"""Log lines of commands that run for long: where they go, and in which form.

A library configures no logging. So only `serve`, `work` and `mcp` call this, each at its start.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engrams.settings import LogSettings

_LOGGERS = ("engrams", "mcp", "uvicorn")
"""Ours, and those of packages that set up a log of their own, which would wrap or repeat lines."""


@contextmanager
def write_log_lines(settings: LogSettings, stream: TextIO | None = None) -> Iterator[None]:
    """Write each log record of this process as one line within the block.

    ``stream``: standard error without it. Afterwards the loggers are as before.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLine() if settings.format == "json" else _TextLine())
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    former_states = [(logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    for logger in loggers:
        logger.setLevel(settings.level.upper())
        logger.propagate = False
        logger.handlers[:] = [handler]
    try:
        yield
    finally:
        for logger, (level, propagates, handlers) in zip(loggers, former_states, strict=True):
            logger.setLevel(level)
            logger.propagate = propagates
            logger.handlers[:] = handlers


class _TextLine(logging.Formatter):
    """``2026-11-28T13:05:13.250Z WARNING engrams.proxy: text``; a traceback follows its line."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")


class _JsonLine(_TextLine):
    """One JSON object: time, level, logger, message, and traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)
