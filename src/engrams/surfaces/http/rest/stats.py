"""/v1/scopes, /v1/stats, /v1/state, /v1/settings: what there is, in numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from engrams.ports import Reach
from engrams.settings import SettingInfo, Settings, describe
from engrams.surfaces.http.activity import MINUTES, Minute, Pulse
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited, plain
from engrams.types import PRODUCT, Layer

_SCOPES = 100


class ScopesResponse(BaseModel):
    scopes: list[list[str]]


class StatsResponse(BaseModel):
    """``product``: by layer, under the names that people are shown. ``scope``: by scope key, the first hundred scopes.
    ``embedded``: the share (0..1) of what is not purged that has a vector of the current model."""

    status: dict[str, int]
    kind: dict[str, int]
    layer: dict[str, int]
    tier: dict[str, int]
    product: dict[str, int]
    scope: dict[str, int]
    active: int
    embedded: float
    embedder: str
    scopes: int


class WorkingItem(BaseModel):
    """What is in the working tier, not judged yet."""

    id: str
    source: str
    text: str
    importance: float


class StateResponse(BaseModel):
    """``tiers``: how many memories are where. ``detail``: what the running process holds besides, by tier; ``working``: its
    working tier, oldest first."""

    tiers: dict[str, int]
    layers: dict[str, int]
    detail: dict[str, Any]
    working: list[WorkingItem]


class SettingResponse(BaseModel):
    """``value`` and ``default`` of a secret are only whether there is one."""

    name: str
    value: Any
    default: Any
    description: str
    secret: bool


class SettingsResponse(BaseModel):
    preset: str
    settings: list[SettingResponse]


class SeriesPoint(BaseModel):
    """One minute. Times of search are milliseconds, over all requests of that minute."""

    at: datetime
    requests: int
    errors: int
    writes: int
    searches: int
    search_p50: float
    search_p95: float


class ModelUsage(BaseModel):
    """What the language model was asked today (UTC), by everybody; for those who may see it."""

    calls: int
    tokens: int


class SeriesResponse(BaseModel):
    points: list[SeriesPoint]
    spent: ModelUsage


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["upkeep"], route_class=limited(settings.limits.text_bytes))
    _numbers(routes)
    _running(routes)
    return routes


def _numbers(routes: APIRouter) -> None:
    @routes.get("/scopes", responses=declared())
    def scopes(caller: Asks) -> ScopesResponse:
        """The scopes that hold memories of this person."""
        return ScopesResponse(scopes=[list(scope.labels) for scope in caller.engine.scopes(caller.owner)])

    @routes.get("/stats", responses=declared())
    def stats(caller: Asks) -> StatsResponse:
        """Numbers of memories by status, kind, layer, tier and scope."""
        held = caller.engine.stats(caller.scope)
        counts = {name: dict(held.get(name, {})) for name in ("status", "kind", "layer", "tier")}
        whole = sum(number for status, number in counts["status"].items() if status != "purged")
        vectors = dict(held.get("model", {})).get(held["embedder"], 0)
        return StatsResponse(
            **counts,
            product={PRODUCT[Layer(layer)]: number for layer, number in counts["layer"].items()},
            scope=_by_scope(caller),
            active=counts["status"].get("active", 0),
            embedded=round(min(1.0, vectors / whole), 4) if whole else 0.0,
            embedder=held["embedder"],
            scopes=held["scopes"],
        )

    @routes.get("/stats/series", responses=declared())
    def series(
        request: Request, caller: Asks, minutes: Annotated[int, Query(ge=1, le=MINUTES, description="How far back.")] = 60
    ) -> SeriesResponse:
        """Requests and times of search by minute since the server started, for charts; and what the model was asked."""
        pulse: Pulse = request.app.state.pulse
        now = int(caller.engine.now().timestamp() // 60)
        points = [_point(minute) for minute in pulse.last(caller.owner.key, now - minutes + 1)]
        spent = caller.engine.stats(caller.scope)["spent"] if caller.all else {}
        return SeriesResponse(points=points, spent=ModelUsage(calls=spent.get("calls", 0), tokens=spent.get("tokens", 0)))


def _running(routes: APIRouter) -> None:
    @routes.get("/state", responses=declared())
    def state(caller: Asks) -> StateResponse:
        """How many memories are in each tier, and what the running process holds of them."""
        held = caller.engine.stats(caller.scope)
        detail = caller.engine.tiers.state(caller.scope)
        working = [WorkingItem(**item) for item in caller.engine.tiers.working(caller.scope)]
        return StateResponse(tiers=dict(held["active"]), layers=dict(held["active_layers"]), detail=plain(detail), working=working)

    @routes.get("/settings", responses=declared())
    def settings(caller: Asks) -> SettingsResponse:
        """Every setting and its value. Keys and passwords are not shown."""
        own = caller.engine.settings
        return SettingsResponse(preset=own.preset, settings=[_setting(own, info) for info in describe()])


def _by_scope(caller: Caller) -> dict[str, int]:
    seen = [scope for scope in caller.engine.scopes(caller.owner) if caller.scope.is_owner or scope in caller.scope.chain()]
    counted = ((scope, caller.engine.store.counts(Reach(caller.owner, (scope,)))["status"]) for scope in seen[:_SCOPES])
    return {scope.key: status.get("active", 0) for scope, status in counted}


def _setting(settings: Settings, info: SettingInfo) -> SettingResponse:
    value: Any = settings
    default = info.default
    for part in info.name.split("."):
        value = getattr(value, part)
    if info.secret:
        value, default = bool(value), bool(default)
    text = f"{info.text} ({info.range})" if info.range else info.text
    return SettingResponse(name=info.name, value=_shown(value), default=_shown(default), description=text, secret=info.secret)


def _shown(value: Any) -> Any:
    """As JSON; an address without its password."""
    if isinstance(value, str) and "://" in value and "@" in value:
        scheme, _, rest = value.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return plain(value)


def _point(minute: Minute) -> SeriesPoint:
    return SeriesPoint(
        at=datetime.fromtimestamp(minute.at * 60, UTC),
        requests=minute.requests,
        errors=minute.errors,
        writes=minute.writes,
        searches=minute.searches,
        search_p50=round(minute.share(0.5), 3),
        search_p95=round(minute.share(0.95), 3),
    )
