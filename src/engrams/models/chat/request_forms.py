"""Forms of a request that a server takes, found by stepping down and remembered.

``RequestFormLadder`` is the entry. It begins with the best form of each field. A refusal steps the
fields that it names down; the first answer makes the form the server's. It is stored with what the
server said, and the best form is tried anew after a day, or when the server has another version.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from engrams.core import Json
from engrams.core.clock import now
from engrams.errors import ModelError
from engrams.models.chat.port import (
    ChatServerRefusal,
    JsonMode,
    LimitName,
    RequestField,
    RequestForm,
)
from engrams.ports import Clock, ModelUsageLedger

_LOG = logging.getLogger(__name__)
_LIMIT_NAMES = tuple(LimitName)
_ANSWERS_WITHOUT_JSON = 2
"""Answers in a row without any JSON that count as a refusal of the mode."""
_CERTAIN_FOR = timedelta(days=1)
"""Time for which a form holds whose better ones were refused by name."""
_GUESSED_FOR = timedelta(hours=1)
"""Time for a form that followed unexplained failures, which may have had another reason."""
_LEAST_TIME = timedelta(hours=1)
"""Time for which a form holds whatever the version: replicas of one server may differ."""


@dataclass(frozen=True, slots=True)
class LearntForm:
    """Form that a server has answered."""

    form: RequestForm
    learnt_at: datetime
    version: str = ""
    """Version of the server then. Empty: it does not tell."""
    is_guess: bool = False
    """True: it followed failures that named no field."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """What the server said, by the name of what it refused (``temperature``, ``json schema``)."""

    def is_due(self, moment: datetime) -> bool:
        """Tell whether better forms are to be tried again."""
        return moment - self.learnt_at >= (_GUESSED_FOR if self.is_guess else _CERTAIN_FOR)


class RequestFormLadder:
    """The best form that one model on one server takes; threads share it."""

    def __init__(
        self,
        json_modes: tuple[JsonMode, ...] = tuple(JsonMode),
        ledger: ModelUsageLedger | None = None,
        address: str = "",
        clock: Clock = now,
    ) -> None:
        """Set up the ladder.

        ``json_modes``: those that the protocol has, best first. ``address``: name under which the
        ledger stores the form; empty, or no ledger: it is forgotten with the process.
        """
        self._lock = threading.Lock()
        self._json_modes = json_modes
        self._ledger = ledger if address else None
        self._address = address
        self._clock = clock
        self._top = RequestForm(json_mode=json_modes[0])
        self._learnt: LearntForm | None = None
        self._is_loaded = False
        self._is_trial = False
        """The best forms are being tried again."""
        self._suspected_mode: JsonMode | None = None
        """Mode to begin with after unexplained failures of those above it."""
        self._last_failure = ("", "")
        """JSON mode and text of the last unexplained failure."""
        self._pending_refusals: dict[str, str] = {}
        """What was refused since the last answer."""
        self._answers_without_json = 0

    def current(self) -> RequestForm:
        """Return the form to ask in."""
        with self._lock:
            self._load()
            form = self._top if self._learnt is None else self._learnt.form
            if self._learnt is not None and form != self._top:
                self._is_trial = self._is_trial or self._learnt.is_due(self._clock())
                form = self._top if self._is_trial else form
            if self._suspected_mode is None:
                return form
            return replace(form, json_mode=self._lower_mode(form.json_mode, self._suspected_mode))

    def refusals(self) -> Mapping[str, str]:
        """Return what the server said, by the name of what it refused."""
        with self._lock:
            self._load()
            return {} if self._learnt is None else dict(self._learnt.refusals)

    def step_down(
        self, form: RequestForm, refusal: ChatServerRefusal, *, with_schema: bool
    ) -> RequestForm | None:
        """Return the form to try after a refusal; None: there is none, or not yet.

        A failure that names no field steps down when it comes twice: then the form comes from
        ``current`` or ``next_after_failure``, after a wait.
        """
        if not refusal.fields:
            return None
        lower_form = form
        names: list[str] = []
        for request_field in refusal.fields:
            if request_field is RequestField.JSON and not with_schema:
                continue
            stepped_form = self._step_field(lower_form, request_field)
            if stepped_form != lower_form:
                names.append(_name_refused(form, request_field))
                lower_form = stepped_form
        if not names:
            return None
        with self._lock:
            for name in names:
                self._note_refusal(name, refusal.error)
        return lower_form

    def next_after_failure(self, form: RequestForm, error: ModelError) -> RequestForm:
        """Return the form to try after an unexplained failure of a question with a schema.

        The same failure twice means the next JSON mode. Where the last mode fails as well, the
        failure has another reason, and the next question begins anew.
        """
        failure = (str(form.json_mode), error.message)
        with self._lock:
            if failure != self._last_failure:
                self._last_failure = failure
                return form
            self._last_failure = ("", "")
            lower_form = self._step_field(form, RequestField.JSON)
            if lower_form == form:
                self._suspected_mode = None
                self._pending_refusals.clear()
                return form
            self._suspected_mode = lower_form.json_mode
            self._note_refusal(_name_refused(form, RequestField.JSON), error)
            return lower_form

    def is_searching(self) -> bool:
        """Tell whether unexplained failures have left modes that were not tried yet."""
        with self._lock:
            return self._suspected_mode is not None or self._last_failure != ("", "")

    def record_answer(self, form: RequestForm, version: str, *, with_schema: bool) -> None:
        """Make the form of an answer the server's.

        A refusal alone proves nothing: it may have another reason than the field that it names.
        """
        with self._lock:
            self._load()
            learnt = self._learnt
            is_guess = with_schema and self._suspected_mode is not None
            if with_schema:
                self._suspected_mode = None
                self._last_failure = ("", "")
            if learnt is None or self._is_trial:
                self._is_trial = False
                if learnt is None and form == self._top:
                    self._pending_refusals.clear()
                    return
                self._store_form(form, version, is_guess=is_guess)
                return
            merged_form = self._merge_forms(learnt.form, form)
            if merged_form != learnt.form:
                self._store_form(merged_form, version, is_guess=is_guess)
            elif version and learnt.version and version != learnt.version:
                self._is_trial = self._clock() - learnt.learnt_at >= _LEAST_TIME

    def record_json(self, mode: JsonMode, *, is_json: bool) -> None:
        """Note whether an answer to a schema held JSON.

        Some servers accept a schema and ignore it: two answers in a row without any JSON count as a
        refusal.
        """
        with self._lock:
            current_form = self._top if self._learnt is None else self._learnt.form
            if is_json or mode != current_form.json_mode:
                self._answers_without_json = 0
                return
            self._answers_without_json += 1
            if self._answers_without_json < _ANSWERS_WITHOUT_JSON:
                return
            self._answers_without_json = 0
            lower_form = self._step_field(current_form, RequestField.JSON)
            if lower_form != current_form:
                name = _name_refused(current_form, RequestField.JSON)
                self._pending_refusals[name] = "its answers held no JSON"
                version = "" if self._learnt is None else self._learnt.version
                self._store_form(lower_form, version, is_guess=False)

    def _step_field(self, form: RequestForm, request_field: RequestField) -> RequestForm:
        """Return the form with the next lower value of one field; the last one stays."""
        match request_field:
            case RequestField.JSON:
                index = self._json_modes.index(form.json_mode)
                last_index = len(self._json_modes) - 1
                return replace(form, json_mode=self._json_modes[min(index + 1, last_index)])
            case RequestField.LIMIT:
                index = _LIMIT_NAMES.index(form.limit)
                return replace(form, limit=_LIMIT_NAMES[min(index + 1, len(_LIMIT_NAMES) - 1)])
            case RequestField.TEMPERATURE:
                return replace(form, temperature=False)
            case RequestField.SYSTEM:
                return replace(form, system=False)
            case RequestField.THINK:
                return replace(form, think=False)
            case RequestField.STREAM:
                return replace(form, stream=True)

    def _merge_forms(self, learnt: RequestForm, answered: RequestForm) -> RequestForm:
        """Return the lower value of each field: what was learnt stays while it is not tried again."""
        return RequestForm(
            json_mode=self._lower_mode(learnt.json_mode, answered.json_mode),
            limit=max(learnt.limit, answered.limit, key=_LIMIT_NAMES.index),
            temperature=learnt.temperature and answered.temperature,
            system=learnt.system and answered.system,
            think=learnt.think and answered.think,
            stream=learnt.stream or answered.stream,
        )

    def _lower_mode(self, first: JsonMode, second: JsonMode) -> JsonMode:
        return max(first, second, key=self._json_modes.index)

    def _note_refusal(self, name: str, error: ModelError) -> None:
        if name not in self._pending_refusals:
            _LOG.info("the model server refused %s: %s", name, error.message)
        self._pending_refusals[name] = error.message

    def _store_form(self, form: RequestForm, version: str, *, is_guess: bool) -> None:
        """Make a form the learnt one, here and in the ledger; the caller holds the lock."""
        earlier_refusals = {} if self._learnt is None else self._learnt.refusals
        lacking = _name_lacking(form, self._json_modes)
        refusals = {
            name: words
            for name, words in {**earlier_refusals, **self._pending_refusals}.items()
            if name in lacking
        }
        self._pending_refusals.clear()
        self._learnt = LearntForm(form, self._clock(), version, is_guess, refusals)
        if self._ledger is not None:
            self._ledger.save_server_form(self._address, _encode(self._learnt))

    def _load(self) -> None:
        """Read what an earlier process has learnt, once; the caller holds the lock."""
        if self._is_loaded:
            return
        self._is_loaded = True
        if self._ledger is None:
            return
        learnt = _decode(self._ledger.load_server_form(self._address))
        if learnt is not None and learnt.form.json_mode in self._json_modes:
            self._learnt = learnt


def _name_refused(form: RequestForm, request_field: RequestField) -> str:
    """Name the value of a field that a server refused, such as ``json schema``."""
    if request_field is RequestField.JSON:
        return f"json {form.json_mode}"
    if request_field is RequestField.LIMIT:
        return str(form.limit)
    return str(request_field)


def _name_lacking(form: RequestForm, json_modes: tuple[JsonMode, ...]) -> frozenset[str]:
    """Name all values that a form is below."""
    names = {f"json {mode}" for mode in json_modes[: json_modes.index(form.json_mode)]}
    names |= {str(limit) for limit in _LIMIT_NAMES[: _LIMIT_NAMES.index(form.limit)]}
    lacks = {
        RequestField.TEMPERATURE: not form.temperature,
        RequestField.SYSTEM: not form.system,
        RequestField.THINK: not form.think,
        RequestField.STREAM: form.stream,
    }
    return frozenset(names | {str(name) for name, is_lacking in lacks.items() if is_lacking})


def _encode(learnt: LearntForm) -> Mapping[str, Json]:
    return {
        "form": asdict(learnt.form),
        "learnt_at": learnt.learnt_at.astimezone(UTC).isoformat(),
        "version": learnt.version,
        "is_guess": learnt.is_guess,
        "refusals": dict(learnt.refusals),
    }


def _decode(stored: Mapping[str, Any] | None) -> LearntForm | None:
    """Read a stored form; None: there is none, or another version of engrams wrote it."""
    if stored is None:
        return None
    try:
        values = stored["form"]
        form = RequestForm(
            json_mode=JsonMode(values["json_mode"]),
            limit=LimitName(values["limit"]),
            temperature=bool(values["temperature"]),
            system=bool(values["system"]),
            think=bool(values["think"]),
            stream=bool(values["stream"]),
        )
        return LearntForm(
            form,
            datetime.fromisoformat(stored["learnt_at"]),
            str(stored["version"]),
            bool(stored["is_guess"]),
            {str(name): str(words) for name, words in stored["refusals"].items()},
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
