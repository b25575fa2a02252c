"""Login of the page at the provider: the code flow with PKCE, of which the page does all but one step.

The page sends the browser to the provider, which sends it back with a code. The server gives the code
to the provider in exchange for a token, because the page may call no other server.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engrams.errors import InputError, RefusedError, StoreError
from engrams.ports import Clock
from engrams.settings.server import OidcSettings
from engrams.surfaces.http.oidc.token_verifier import OidcTokenVerifier
from engrams.surfaces.http.permissions import OPEN, OperationPermission, list_permissions
from engrams.surfaces.http.problems import make_problem, to_problem

_PATH = "/v1/login"
LOGIN_PERMISSIONS: tuple[OperationPermission, ...] = list_permissions(
    (
        ("GET", _PATH, OPEN, "view.login"),
        ("POST", _PATH, OPEN, "login"),
    )
)
_MAX_BODY_BYTES = 20_000
_TIMEOUT_SECONDS = 10.0
_TOKEN_NAMES = ("access_token", "id_token")
"""Tokens of the provider's answer, the one that is meant for servers first."""


class PageLogin:
    """Requests with which the page logs somebody in."""

    def __init__(self, settings: OidcSettings, tokens: OidcTokenVerifier, clock: Clock) -> None:
        self._settings = settings
        self._tokens = tokens
        self._clock = clock

    def list_routes(self) -> list[Route]:
        """Build the routes; they are there where the page has a name at the provider."""
        return [
            Route(_PATH, self._describe, methods=["GET"], include_in_schema=False),
            Route(_PATH, self._exchange, methods=["POST"], include_in_schema=False),
        ]

    async def _describe(self, _: Request) -> Response:
        """Tell the page where to send the browser."""
        try:
            description = await self._tokens.describe_provider()
        except StoreError as error:
            return to_problem(error)
        return JSONResponse(
            {
                "address": description.get("authorization_endpoint", ""),
                "client": self._settings.client_id,
                "scope": self._settings.login_scope,
            }
        )

    async def _exchange(self, request: Request) -> Response:
        """Answer a token for a code."""
        try:
            fields = await _read_fields(request)
            description = await self._tokens.describe_provider()
            provider_answer = await self._ask_provider(
                str(description.get("token_endpoint", "")), fields
            )
            token = await self._choose_token(provider_answer)
        except (InputError, StoreError) as error:
            return to_problem(error)
        except RefusedError as error:
            return make_problem(401, "Unauthorized", error.message, error.hint)
        return JSONResponse({"token": token})

    async def _ask_provider(self, address: str, fields: dict[str, str]) -> dict[str, Any]:
        """Exchange a code. RefusedError: the provider gives nothing for it."""
        form = {
            **fields,
            "grant_type": "authorization_code",
            "client_id": self._settings.client_id,
        }
        if self._settings.client_secret:
            form["client_secret"] = self._settings.client_secret
        try:
            async with httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
                answer = await client.post(address, data=form)
            provider_answer = json.loads(answer.content)
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise StoreError(
                f"The identity provider {self._settings.issuer} does not answer:"
                f" {type(problem).__name__}.",
                hint="Try again when it does.",
            ) from None
        except (ValueError, RecursionError):
            provider_answer = None
        if not isinstance(provider_answer, dict) or answer.status_code != 200:
            reason = provider_answer.get("error", "") if isinstance(provider_answer, dict) else ""
            raise RefusedError(
                f"The provider refuses the login: {answer.status_code} {reason!s:.100}.",
                hint="Log in again.",
            )
        return provider_answer

    async def _choose_token(self, provider_answer: dict[str, Any]) -> str:
        """Choose a token that opens this server. RefusedError: none does, with the reason."""
        refusal = RefusedError("The provider gives no signed token.")
        for name in _TOKEN_NAMES:
            token = provider_answer.get(name)
            if isinstance(token, str) and self._tokens.is_token(token):
                try:
                    await self._tokens.find_key(token, self._clock())
                except RefusedError as error:
                    refusal = error
                else:
                    return token
        raise RefusedError(
            refusal.message, hint="`serve.oidc.audience` has to name what the provider writes."
        )


async def _read_fields(request: Request) -> dict[str, str]:
    """Read what the page sends. InputError: it is something else."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            raise InputError("The login is too long.")
    try:
        fields = json.loads(bytes(body))
    except (ValueError, RecursionError):
        fields = None
    names = ("code", "code_verifier", "redirect_uri")
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in names):
        raise InputError(f"A login has the texts {', '.join(names)}.")
    return {name: fields[name] for name in names}
