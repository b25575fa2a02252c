"""Answer to a malformed request: which field is wrong, and which was probably meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from engrams.settings import suggest
from engrams.surfaces.http.problems import SCHEMA_HINT, make_problem

_MAX_FAULTS = 5
"""Faults of one request that the answer explains at most."""
_TOP_LEVEL = 2
"""Parts of the location of a field at the top of the body: ``("body", name)``."""
_FOREIGN_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("content", "memory", "value", "fact", "message"), ("text", "messages")),
    **dict.fromkeys(("q", "question", "prompt", "text"), ("query", "text")),
    **dict.fromkeys(("top_k", "k", "n", "max", "count", "size", "max_results"), ("limit",)),
    **dict.fromkeys(("max_tokens", "budget"), ("tokens",)),
    **dict.fromkeys(("kind", "type", "types"), ("kinds", "kind")),
    **dict.fromkeys(("filter", "filters"), ("where",)),
    **dict.fromkeys(("session_id", "thread_id", "run_id"), ("session",)),
}
"""Fields of other systems -> ours, of which a request takes the first that it has."""


async def handle_invalid_request(request: Request, error: Exception) -> Response:
    """Answer 422 for a malformed request, without repeating its content."""
    assert isinstance(error, RequestValidationError)
    # Unknown fields come first: they are the most common fault, and the easiest to mend.
    faults = sorted(
        error.errors()[:_MAX_FAULTS], key=lambda fault: fault["type"] != "extra_forbidden"
    )
    if any(map(_is_whole_body, faults)) and not _is_json(request):
        return make_problem(
            422,
            "InputError",
            "The body is not marked as JSON.",
            "Send the header `Content-Type: application/json`.",
        )
    fields = _body_fields(request)
    detail = "; ".join(_explain_fault(fault, fields) for fault in faults)
    return make_problem(422, "InputError", detail, SCHEMA_HINT)


def _is_whole_body(fault: Mapping[str, Any]) -> bool:
    """Return True if the body as a whole is no object."""
    return bool(fault["loc"] == ("body",) and fault["type"].endswith("_attributes_type"))


def _is_json(request: Request) -> bool:
    return "json" in request.headers.get("content-type", "")


def _body_fields(request: Request) -> tuple[str, ...]:
    """List the fields of the body that the route takes."""
    body_field = getattr(request.scope.get("route"), "body_field", None)
    model = getattr(getattr(body_field, "field_info", None), "annotation", None)
    return tuple(getattr(model, "model_fields", ()))


def _explain_fault(fault: Mapping[str, Any], fields: Sequence[str]) -> str:
    location = ".".join(map(str, fault["loc"]))
    name = str(fault["loc"][-1])
    match fault["type"]:
        case "extra_forbidden" if len(fault["loc"]) == _TOP_LEVEL:
            own_field = next(
                (field for field in _FOREIGN_FIELDS.get(name, ()) if field in fields), ""
            )
            tip = f"Did you mean {own_field}?" if own_field else suggest(name, list(fields))
            sentences = (
                f"{location} is no field of this request.",
                tip,
                f"It takes {', '.join(fields)}",
            )
            return " ".join(sentence for sentence in sentences if sentence)
        case "json_invalid":
            reason = fault.get("ctx", {}).get("error", "it breaks off")
            return f"The body is not JSON: {reason} at character {name}"
        case _:
            return f"{location}: {fault['msg']}"
