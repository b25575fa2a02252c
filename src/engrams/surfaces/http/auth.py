"""API keys and tokens: who sends a request, and whether it has the right to; wishes in headers.

`ApiKeyMiddleware` is the one place where a request gets its owner.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engrams.api_keys import PREFIX, ApiKey, ApiKeyStore
from engrams.errors import BudgetError, RefusedError, StoreError
from engrams.ports import Clock
from engrams.surfaces.http.caller import KEY, OWNER, REFUSED_KEY, RELAY, RIGHT
from engrams.surfaces.http.permissions import OPEN, PROXY, OperationPermission, PermissionTable
from engrams.surfaces.http.problems import make_problem, to_problem
from engrams.surfaces.http.rates import RequestRates

if TYPE_CHECKING:
    from engrams.admin import AuditLog
    from engrams.surfaces.http.oidc.resource_metadata import ResourceMetadata
    from engrams.surfaces.http.oidc.token_verifier import OidcTokenVerifier

_KEY_HEADERS = (b"authorization", b"x-api-key", b"x-engrams-key")
_TOKEN_HEADERS = (b"x-engrams-key", b"x-api-key", b"authorization")
"""Headers of a provider's token, our own first: the last may hold one for the model server."""
_OWNER_HEADER = b"x-engrams-owner"
_SPACE_HEADER = b"x-engrams-space"
_PRIVACY_WISHES = ("mode", "incognito", "guest", "private", "privacy", "memory", "off", "no-store")
_PRIVACY_HEADERS = frozenset(f"x-engrams-{wish}".encode() for wish in _PRIVACY_WISHES)
_PRIVACY_PARAMETERS = frozenset(
    (*_PRIVACY_WISHES, "no_store", *map(bytes.decode, _PRIVACY_HEADERS))
)
"""Headers and parameters by which somebody may ask that nothing is kept. None has a meaning, so that
each is refused: a request that asks for privacy must not be stored."""
_PRIVACY_HINT = (
    'Nothing was stored. A chat at the proxy is kept out of memory by `memory`: {"incognito":'
    " true}; of what you send here, leave out what is not to be stored."
)
_HINT = "Send `Authorization: Bearer engrams_…`; `engrams keys add` makes a key."


@dataclass(frozen=True, slots=True)
class AuthenticationDeps:
    """Parts of the server that decide whether a request may go on."""

    keys: ApiKeyStore
    permissions: PermissionTable
    is_key_needed: bool
    """False: whoever reaches the port may call, as on this machine alone."""
    rates: RequestRates
    clock: Clock
    audit: AuditLog
    tokens: OidcTokenVerifier | None = None
    """Verifier of a provider's tokens; None: only keys open the server."""
    metadata: ResourceMetadata | None = None
    """Description for clients that look for a token; None as ``tokens``."""


@dataclass(frozen=True, slots=True)
class RequestCredential:
    """Key or token of a request, and the live key that it stands for."""

    secret: str = ""
    """Empty: the request has none."""
    key: ApiKey | None = None
    """None: the secret opens nothing."""
    problem: str = ""
    """Reason why a token opens nothing."""


class ApiKeyMiddleware:
    """Authenticate requests by API key or by a provider's token, and check the rights.

    The key decides the owner here and only here: every engine call is bound to that owner, and the
    proxy gets it in a header that no client can send. The key itself goes no further.
    """

    def __init__(self, app: ASGIApp, deps: AuthenticationDeps) -> None:
        self._app = app
        self._keys = deps.keys
        self._permissions = deps.permissions
        self._is_key_needed = deps.is_key_needed
        self._rates = deps.rates
        self._clock = deps.clock
        self._audit = deps.audit
        self._tokens = deps.tokens
        self._metadata = deps.metadata

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        permission = self._permissions.find(scope["method"], scope["path"])
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != _OWNER_HEADER]
        address = scope["client"][0] if scope.get("client") else ""
        credential = RequestCredential()
        try:
            credential = await self._identify(scope["headers"])
            refusal = await self._check(permission, credential, address)
        except StoreError as error:
            refusal = _explain_outage(permission, error)
        else:
            if refusal is not None and credential.secret and credential.key is None:
                scope[REFUSED_KEY] = True
                await asyncio.sleep(self._rates.wrong_keys.add(address))
        refusal = refusal or _refuse_privacy_wish(permission, scope)
        refusal = refusal or _refuse_space(permission, scope)
        if refusal is not None:
            self._describe_provider(refusal, permission, credential, scope)
            await refusal(scope, receive, send)
            return
        if credential.key is not None:
            _bind_owner(scope, credential.key, credential.secret)
        scope[RELAY] = permission.right == PROXY
        scope[RIGHT] = permission.right
        await self._app(scope, receive, send)

    async def _identify(self, headers: list[tuple[bytes, bytes]]) -> RequestCredential:
        """Find the key or token of a request, and what it opens."""
        secret = _find_secret(headers)
        if secret or self._tokens is None:
            return RequestCredential(secret, await self._look_up(secret) if secret else None)
        token = _find_token(headers, self._tokens)
        if not token:
            return RequestCredential()
        try:
            return RequestCredential(token, await self._tokens.find_key(token, self._clock()))
        except RefusedError as error:
            return RequestCredential(token, problem=error.message)

    def _describe_provider(
        self,
        refusal: Response,
        permission: OperationPermission,
        credential: RequestCredential,
        scope: Scope,
    ) -> None:
        """Tell a refused client where it gets a token that opens this server."""
        if self._metadata is None or refusal.status_code not in (401, 403):
            return
        error = ""
        if refusal.status_code == 403:
            error = "insufficient_scope"
        elif credential.secret:
            error = "invalid_token"
        rights = [permission.right] if permission.right else []
        refusal.headers["www-authenticate"] = self._metadata.challenge(
            scope, error, credential.problem, rights
        )

    async def _look_up(self, secret: str) -> ApiKey | None:
        """Find the live key, in a thread if that waits."""
        now = self._clock()
        if not self._keys.is_remote:
            return self._keys.find(secret, now)
        return self._keys.recall(secret, now) or await asyncio.to_thread(
            self._keys.find, secret, now
        )

    async def _check(
        self, permission: OperationPermission, credential: RequestCredential, address: str
    ) -> Response | None:
        """Return the answer that refuses the request; None: it may go on."""
        key = credential.key
        if key is None:
            return self._check_without_key(permission, credential, address)
        refusal = self._find_refusal(permission, key)
        if refusal is None and self._rates.is_limited(key):
            refusal = await asyncio.to_thread(_find_excess, self._rates, permission, key)
        return refusal

    def _check_without_key(
        self, permission: OperationPermission, credential: RequestCredential, address: str
    ) -> Response | None:
        """Check a request without a key, or with one that opens nothing."""
        secret = credential.secret
        if not secret and not self._is_key_needed:
            return None
        seconds = self._rates.callers.acquire(f"address {address}")
        if seconds:
            return _slow_down(permission, seconds)
        if permission.right == OPEN and not secret:
            return None
        # One entry a second: somebody who guesses keys must not fill the audit log.
        if self._rates.audited_refusals.acquire("") == 0:
            self._audit.note(
                "key.refused", actor="unknown", target=permission.name, outcome="refused"
            )
        detail = credential.problem
        if not detail and secret:
            detail = "This key opens nothing: it is unknown, expired or revoked."
        hint = _HINT if self._tokens is None else self._tokens.hint
        return _refuse(permission, 401, "Unauthorized", detail or "A key is needed here.", hint)

    def _find_refusal(self, permission: OperationPermission, key: ApiKey) -> Response | None:
        """Return the refusal of a request whose key lacks the right or asks too often; else None.

        An allowed request counts against the key's rate.
        """
        if permission.right != OPEN and not key.allows(permission.right):
            self._audit.note(permission.name, actor=key.id, owner=key.owner.key, outcome="refused")
            detail = f"This key does not have the right `{permission.right}`."
            hint = _explain_right(key, permission)
            return _refuse(permission, 403, "Forbidden", detail, hint)
        seconds = self._rates.callers.acquire(key.id)
        return _slow_down(permission, seconds) if seconds else None


def _refuse_privacy_wish(permission: OperationPermission, scope: Scope) -> Response | None:
    """Refuse a wish for privacy in a header or in the query; None: there is none."""
    for name, _ in scope["headers"]:
        if name in _PRIVACY_HEADERS:
            return _refuse_wish(permission, f"The header `{name.decode()}`")
    # A page without data keeps nothing, and what is only read from an upstream is its own matter.
    is_read_elsewhere = permission.right == PROXY and scope["method"] in ("GET", "HEAD")
    if permission.right == OPEN or is_read_elsewhere:
        return None
    for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name.casefold() in _PRIVACY_PARAMETERS:
            return _refuse_wish(permission, f"The parameter `{name.casefold()}`")
    return None


def _refuse_space(permission: OperationPermission, scope: Scope) -> Response | None:
    """Refuse a space at a door that tells a person's own memory; None: none is named there."""
    is_own_only = permission.right == PROXY or permission.path.startswith("/mcp")
    if not is_own_only or all(name != _SPACE_HEADER for name, _ in scope["headers"]):
        return None
    detail = "The header `x-engrams-space` means nothing here."
    hint = "Send what a space is told to /v1/memories, or by the MCP tool memory_add."
    return _refuse(permission, 400, "Bad Request", detail, hint)


def _refuse_wish(permission: OperationPermission, subject: str) -> Response:
    detail = f"{subject} means nothing to this server."
    return _refuse(permission, 400, "Bad Request", detail, _PRIVACY_HINT)


def _bind_owner(scope: Scope, key: ApiKey, secret: str) -> None:
    """Bind a request to the key's owner, and take the key out of its headers."""
    scope[KEY] = key
    scope[OWNER] = key.owner.key
    headers = [
        (name, value)
        for name, value in scope["headers"]
        if name not in _KEY_HEADERS or secret not in value.decode("latin-1")
    ]
    scope["headers"] = [*headers, (_OWNER_HEADER, quote(key.owner.key).encode())]


def _explain_right(key: ApiKey, permission: OperationPermission) -> str:
    if not key.digest:
        return (
            "The provider names the rights of a token in the claim `serve.oidc.rights_claim`;"
            " without such a claim, `serve.oidc.rights` does."
        )
    return f"`engrams keys add NAME {_key_options(key, permission)}` makes one that has."


def _key_options(key: ApiKey, permission: OperationPermission) -> str:
    """Write the options of `engrams keys add` for a key with one more right."""
    owner_kind, owner_name = key.owner.labels[:2]
    user = f"--user {shlex.quote(owner_name)} " if owner_kind == "user" else ""
    return user + " ".join(f"--right {right}" for right in (*key.rights, permission.right))


def _find_excess(
    rates: RequestRates, permission: OperationPermission, key: ApiKey
) -> Response | None:
    try:
        rates.charge(key)
    except BudgetError as error:
        seconds = int(error.retry_after)
        return _refuse(permission, 429, "Too Many Requests", error.message, error.hint, seconds)
    return None


def _slow_down(permission: OperationPermission, seconds: int) -> Response:
    return _refuse(
        permission,
        429,
        "Too Many Requests",
        "Too many requests of this key or address.",
        f"Continue in {seconds} s; `serve.rate_limit` is the limit.",
        seconds,
    )


def _explain_outage(permission: OperationPermission, error: StoreError) -> Response:
    """Build the answer where keys cannot be looked up."""
    if permission.right == PROXY:
        return _refuse(permission, 503, "Service Unavailable", error.message, error.hint, 1)
    return to_problem(error)


def _find_secret(headers: list[tuple[bytes, bytes]]) -> str:
    """Find our key in the headers; other bearer tokens do not count."""
    for name, value in headers:
        if name in _KEY_HEADERS:
            word = value.decode("latin-1").strip().rpartition(" ")[2]
            if word.startswith(PREFIX):
                return word
    return ""


def _find_token(headers: list[tuple[bytes, bytes]], tokens: OidcTokenVerifier) -> str:
    """Find a provider's token in the headers."""
    words = {name: value.decode("latin-1").strip().rpartition(" ")[2] for name, value in headers}
    candidates = [words.get(name, "") for name in _TOKEN_HEADERS]
    return next(filter(tokens.is_token, candidates), "")


def _refuse(
    permission: OperationPermission,
    status: int,
    title: str,
    detail: str,
    hint: str,
    retry_after: int = 0,
) -> Response:
    """Build the refusal in the form that the path's clients read: OpenAI's on the proxy's paths."""
    if permission.right == PROXY:
        response = _to_openai_error(status, title, f"{detail} {hint}")
    else:
        response = make_problem(status, title, detail, hint)
    if status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="engrams"'
    if retry_after:
        response.headers["retry-after"] = str(retry_after)
    return response


def _to_openai_error(status: int, title: str, message: str) -> Response:
    if status == 429:
        kind = "rate_limit_error"
    elif status >= 500:
        kind = "server_error"
    else:
        kind = "invalid_request_error"
    code = title.casefold().replace(" ", "_")
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return Response(json.dumps(body), status, media_type="application/json")
