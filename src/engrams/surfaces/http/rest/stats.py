"""/v1/scopes, /v1/tags, /v1/stats, /v1/state, /v1/settings: counts and settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from engrams.api_keys import RIGHTS, ApiKey
from engrams.core import PRODUCT, Layer
from engrams.settings import SettingInfo, Settings, describe
from engrams.surfaces.http.caller import KEY, AnyCaller, ScopedCaller
from engrams.surfaces.http.json_values import to_json
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.observers.activity_chart import (
    CHART_MINUTES,
    ActivityMinuteCounts,
    OwnerActivityChart,
)
from engrams.surfaces.http.problems import error_responses


class ScopeListResponse(BaseModel):
    owner: list[str] = Field(description="The owner whose memories these are, also without any.")
    scopes: list[list[str]]
    rights: list[str] = Field(description="What the key of this request may do; without one, all.")


class TagCountResponse(BaseModel):
    """Tag with the number of active memories that have it."""

    tag: str
    memories: int


class TagListResponse(BaseModel):
    tags: list[TagCountResponse]
    more: bool = Field(description="There are more tags than were asked for.")


class QuotaUseResponse(BaseModel):
    """Use of a quota of this person."""

    used: int
    limit: int = Field(description="0: there is none.")


class MemoryStatsResponse(BaseModel):
    """Counts of memories by status, kind, layer, tier and scope."""

    status: dict[str, int]
    kind: dict[str, int]
    layer: dict[str, int]
    tier: dict[str, int]
    product: dict[str, int] = Field(
        description="Active memories by display name of the layer, as the lists have them."
    )
    scope: dict[str, int] = Field(description="By key of the scope; the first hundred scopes.")
    active: int
    embedded: float = Field(
        description="Share (0..1) of memories not purged that have a vector of the current model."
    )
    embedder: str
    scopes: int
    quota: dict[str, QuotaUseResponse] = Field(
        description="Use of each limit of this person, by its setting; requests are counted where"
        " they are limited."
    )


class WorkingTierItemResponse(BaseModel):
    """Item of the working tier, not judged yet."""

    id: str
    source: str
    text: str
    importance: float


class TierCountsResponse(BaseModel):
    """Counts of memories by tier and layer."""

    tiers: dict[str, int]
    layers: dict[str, int]
    detail: dict[str, Any] = Field(description="Memories that this process caches, by tier.")
    working: list[WorkingTierItemResponse] = Field(
        description="Working tier of this process, oldest first."
    )


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
    """Activity of one minute."""

    at: datetime
    requests: int
    errors: int
    writes: int
    searches: int
    search_p50: float = Field(description="Milliseconds below which half of the searches stayed.")
    search_p95: float = Field(description="Milliseconds below which 95 % of the searches stayed.")


class ModelUsageResponse(BaseModel):
    """Calls and tokens of the language model today (UTC), everybody's."""

    calls: int
    tokens: int


class ActivitySeriesResponse(BaseModel):
    points: list[ActivityMinuteResponse]
    spent: ModelUsageResponse


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "upkeep")
    _add_count_routes(routes)
    _add_tag_routes(routes, settings)
    _add_process_routes(routes)
    return routes


def _add_count_routes(routes: APIRouter) -> None:
    @routes.get("/scopes", responses=error_responses())
    def scopes(caller: ScopedCaller, request: Request) -> ScopeListResponse:
        """List the scopes that hold this person's memories."""
        key: ApiKey | None = request.scope.get(KEY)
        return ScopeListResponse(
            rights=list(RIGHTS if key is None else key.rights),
            owner=list(caller.owner.labels),
            scopes=[list(scope.labels) for scope in caller.engine.scopes(caller.owner)],
        )

    @routes.get("/stats", responses=error_responses())
    def stats(caller: ScopedCaller) -> MemoryStatsResponse:
        """Count memories by status, kind, layer, tier and scope."""
        numbers = caller.engine.stats(caller.scope)
        counts = {name: dict(numbers.get(name, {})) for name in ("status", "kind", "layer", "tier")}
        return MemoryStatsResponse(
            **counts,
            product={
                PRODUCT[Layer(layer)]: count for layer, count in numbers["active_layers"].items()
            },
            scope=numbers["scope"],
            active=counts["status"].get("active", 0),
            embedded=numbers["embedded"],
            embedder=numbers["embedder"],
            scopes=numbers["scopes"],
            quota=numbers["quota"],
        )

    @routes.get("/stats/series", responses=error_responses())
    def series(
        request: Request,
        caller: ScopedCaller,
        minutes: Annotated[int, Query(ge=1, le=CHART_MINUTES, description="How far back.")] = 60,
    ) -> ActivitySeriesResponse:
        """List requests and search times by minute, and model usage.

        Since the server started.
        """
        chart: OwnerActivityChart = request.app.state.activity
        first_minute = int(caller.engine.now().timestamp() // 60) - minutes + 1
        counts = chart.minutes_since(caller.owner.key, first_minute)
        spent = caller.engine.stats(caller.scope)["spent"] if caller.is_admin else {}
        return ActivitySeriesResponse(
            points=[_to_point(minute) for minute in counts],
            spent=ModelUsageResponse(calls=spent.get("calls", 0), tokens=spent.get("tokens", 0)),
        )


def _add_tag_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/tags", responses=error_responses())
    def tags(
        caller: ScopedCaller,
        prefix: Annotated[
            str, Query(max_length=200, description="Only tags that begin so, in any case.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many tags.")] = 100,
    ) -> TagListResponse:
        """List the tags of active memories with their counts.

        The most used come first. At most `limits.results`.
        """
        begin = prefix.casefold()
        counts = [
            TagCountResponse(tag=tag, memories=count)
            for tag, count in caller.engine.links.tags(caller.scope).items()
            if tag.casefold().startswith(begin)
        ]
        shown = min(limit, settings.limits.results)
        return TagListResponse(tags=counts[:shown], more=len(counts) > shown)


def _add_process_routes(routes: APIRouter) -> None:
    @routes.get("/state", responses=error_responses())
    def state(caller: ScopedCaller) -> TierCountsResponse:
        """Count memories by tier, with what this process caches."""
        numbers = caller.engine.stats(caller.scope)
        detail = caller.engine.tiers.state(caller.scope)
        working = [
            WorkingTierItemResponse(**item) for item in caller.engine.tiers.working(caller.scope)
        ]
        return TierCountsResponse(
            tiers=dict(numbers["active"]),
            layers=dict(numbers["active_layers"]),
            detail=to_json(detail),
            working=working,
        )

    @routes.get("/settings", responses=error_responses())
    def settings(caller: AnyCaller) -> SettingsListResponse:
        """List all settings; keys and passwords are hidden."""
        current = caller.engine.settings
        return SettingsListResponse(
            preset=current.preset, settings=[_to_setting(current, info) for info in describe()]
        )


def _to_setting(settings: Settings, info: SettingInfo) -> SettingResponse:
    value: Any = settings
    default = info.default
    for name in info.name.split("."):
        value = getattr(value, name)
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
        scheme, _, address = value.partition("://")
        return f"{scheme}://{address.rpartition('@')[2]}"
    return to_json(value)


def _to_point(counts: ActivityMinuteCounts) -> ActivityMinuteResponse:
    return ActivityMinuteResponse(
        at=datetime.fromtimestamp(counts.minute * 60, UTC),
        requests=counts.requests,
        errors=counts.errors,
        writes=counts.writes,
        searches=counts.searches,
        search_p50=round(counts.percentile(0.5), 3),
        search_p95=round(counts.percentile(0.95), 3),
    )
