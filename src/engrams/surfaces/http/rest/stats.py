"""/v1/scopes, /v1/stats, /v1/state, /v1/settings: counts and settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from engrams.core import PRODUCT, Layer
from engrams.settings import SettingInfo, Settings, describe
from engrams.surfaces.http.request_observers import (
    MINUTES,
    ActivityMinuteCounts,
    OwnerActivityChart,
)
from engrams.surfaces.http.rest.caller import AnyCaller, IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route, to_json

_SCOPES = 100


class ScopeListResponse(BaseModel):
    scopes: list[list[str]]


class QuotaUseResponse(BaseModel):
    """Use of a quota of this person; limit 0: there is none."""

    used: int
    limit: int


class MemoryStatsResponse(BaseModel):
    """Counts of memories by status, kind, layer, tier and scope.

    ``product``: by display name of the layer. ``scope``: by scope key, the first hundred scopes.
    ``embedded``: the share (0..1) of memories not purged that have a vector of the current model.
    ``quota``: use of each limit of this person, by its setting; requests are counted where they are
    limited.
    """

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
    quota: dict[str, QuotaUseResponse]


class WorkingTierItemResponse(BaseModel):
    """Item of the working tier, not judged yet."""

    id: str
    source: str
    text: str
    importance: float


class TierCountsResponse(BaseModel):
    """Counts of memories by tier and layer.

    ``detail``: what this process caches, by tier; ``working``: its working tier, oldest first.
    """

    tiers: dict[str, int]
    layers: dict[str, int]
    detail: dict[str, Any]
    working: list[WorkingTierItemResponse]


class SettingResponse(BaseModel):
    """Setting; of a secret only its presence is shown."""

    name: str
    value: Any
    default: Any
    description: str
    secret: bool


class SettingsListResponse(BaseModel):
    preset: str
    settings: list[SettingResponse]


class ActivityMinuteResponse(BaseModel):
    """Activity of one minute; search times in milliseconds."""

    at: datetime
    requests: int
    errors: int
    writes: int
    searches: int
    search_p50: float
    search_p95: float


class ModelUsageResponse(BaseModel):
    """Calls and tokens of the language model today (UTC), everybody's."""

    calls: int
    tokens: int


class ActivitySeriesResponse(BaseModel):
    points: list[ActivityMinuteResponse]
    spent: ModelUsageResponse


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(
        prefix="/v1", tags=["upkeep"], route_class=limited_route(settings.limits.text_bytes)
    )
    _add_count_routes(routes)
    _add_process_routes(routes)
    return routes


def _add_count_routes(routes: APIRouter) -> None:
    @routes.get("/scopes", responses=error_responses())
    def scopes(caller: ScopedCaller) -> ScopeListResponse:
        """List the scopes that hold this person's memories."""
        return ScopeListResponse(
            scopes=[list(scope.labels) for scope in caller.engine.scopes(caller.owner)]
        )

    @routes.get("/stats", responses=error_responses())
    def stats(caller: ScopedCaller) -> MemoryStatsResponse:
        """Count memories by status, kind, layer, tier and scope."""
        held = caller.engine.stats(caller.scope)
        counts = {name: dict(held.get(name, {})) for name in ("status", "kind", "layer", "tier")}
        whole = sum(number for status, number in counts["status"].items() if status != "purged")
        vectors = dict(held.get("model", {})).get(held["embedder"], 0)
        return MemoryStatsResponse(
            **counts,
            product={PRODUCT[Layer(layer)]: number for layer, number in counts["layer"].items()},
            scope=_count_by_scope(caller),
            active=counts["status"].get("active", 0),
            embedded=round(min(1.0, vectors / whole), 4) if whole else 0.0,
            embedder=held["embedder"],
            scopes=held["scopes"],
            quota=held["quota"],
        )

    @routes.get("/stats/series", responses=error_responses())
    def series(
        request: Request,
        caller: ScopedCaller,
        minutes: Annotated[int, Query(ge=1, le=MINUTES, description="How far back.")] = 60,
    ) -> ActivitySeriesResponse:
        """List requests and search times by minute, and model usage.

        Since the server started.
        """
        chart: OwnerActivityChart = request.app.state.activity
        now = int(caller.engine.now().timestamp() // 60)
        points = [
            _to_point(minute) for minute in chart.minutes_since(caller.owner.key, now - minutes + 1)
        ]
        spent = caller.engine.stats(caller.scope)["spent"] if caller.is_admin else {}
        return ActivitySeriesResponse(
            points=points,
            spent=ModelUsageResponse(calls=spent.get("calls", 0), tokens=spent.get("tokens", 0)),
        )


def _add_process_routes(routes: APIRouter) -> None:
    @routes.get("/state", responses=error_responses())
    def state(caller: ScopedCaller) -> TierCountsResponse:
        """Count memories by tier, with what this process caches."""
        held = caller.engine.stats(caller.scope)
        detail = caller.engine.tiers.state(caller.scope)
        working = [
            WorkingTierItemResponse(**item) for item in caller.engine.tiers.working(caller.scope)
        ]
        return TierCountsResponse(
            tiers=dict(held["active"]),
            layers=dict(held["active_layers"]),
            detail=to_json(detail),
            working=working,
        )

    @routes.get("/settings", responses=error_responses())
    def settings(caller: AnyCaller) -> SettingsListResponse:
        """List all settings; keys and passwords are hidden."""
        own = caller.engine.settings
        return SettingsListResponse(
            preset=own.preset, settings=[_to_setting(own, info) for info in describe()]
        )


def _count_by_scope(caller: IdentifiedCaller) -> dict[str, int]:
    held = caller.engine.inspect.count_scopes(caller.owner)
    seen = [scope for scope in held if caller.scope.is_owner or scope in caller.scope.chain()]
    return {scope.key: held[scope] for scope in seen[:_SCOPES]}


def _to_setting(settings: Settings, info: SettingInfo) -> SettingResponse:
    value: Any = settings
    default = info.default
    for part in info.name.split("."):
        value = getattr(value, part)
    if info.secret:
        value = bool(value)
        default = bool(default)
    text = f"{info.text} ({info.range})" if info.range else info.text
    return SettingResponse(
        name=info.name,
        value=_hide_password(value),
        default=_hide_password(default),
        description=text,
        secret=info.secret,
    )


def _hide_password(value: Any) -> Any:
    """Convert to JSON; remove the password of an address."""
    if isinstance(value, str) and "://" in value and "@" in value:
        scheme, _, rest = value.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return to_json(value)


def _to_point(minute: ActivityMinuteCounts) -> ActivityMinuteResponse:
    return ActivityMinuteResponse(
        at=datetime.fromtimestamp(minute.at * 60, UTC),
        requests=minute.requests,
        errors=minute.errors,
        writes=minute.writes,
        searches=minute.searches,
        search_p50=round(minute.percentile(0.5), 3),
        search_p95=round(minute.percentile(0.95), 3),
    )
