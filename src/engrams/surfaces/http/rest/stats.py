"""/v1/scopes, /v1/stats, /v1/state, /v1/settings: what there is, in numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from engrams.ports import Reach
from engrams.settings import Settings, describe
from engrams.surfaces.http.activity import MINUTES, Minute, Pulse
from engrams.surfaces.http.rest import views
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited, plain
from engrams.types import PRODUCT, Layer

_SCOPES = 100


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["upkeep"], route_class=limited(settings.limits.text_bytes))
    _numbers(routes)
    _running(routes)
    return routes


def _numbers(routes: APIRouter) -> None:
    @routes.get("/scopes", responses=declared())
    def scopes(caller: Asks) -> views.Places:
        """The scopes that hold memories of this person."""
        return views.Places(scopes=[list(scope.labels) for scope in caller.engine.scopes(caller.owner)])

    @routes.get("/stats", responses=declared())
    def stats(caller: Asks) -> views.Numbers:
        """Numbers of memories by status, kind, layer, tier and scope."""
        held = caller.engine.stats(caller.scope)
        counts = {name: dict(held.get(name, {})) for name in ("status", "kind", "layer", "tier")}
        whole = sum(number for status, number in counts["status"].items() if status != "purged")
        vectors = dict(held.get("model", {})).get(held["embedder"], 0)
        return views.Numbers(
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
    ) -> views.Series:
        """Requests and times of search by minute since the server started, for charts; and what the model was asked."""
        pulse: Pulse = request.app.state.pulse
        now = int(caller.engine.now().timestamp() // 60)
        points = [_point(minute) for minute in pulse.last(caller.owner.key, now - minutes + 1)]
        spent = caller.engine.stats(caller.scope)["spent"] if caller.all else {}
        return views.Series(points=points, spent=views.Spent(calls=spent.get("calls", 0), tokens=spent.get("tokens", 0)))


def _running(routes: APIRouter) -> None:
    @routes.get("/state", responses=declared())
    def state(caller: Asks) -> views.State:
        """How many memories are in each tier, and what the running process holds of them."""
        held = caller.engine.stats(caller.scope)
        detail = caller.engine.tiers.state(caller.scope)
        working = [views.Item(**item) for item in caller.engine.tiers.working(caller.scope)]
        return views.State(tiers=dict(held["active"]), layers=dict(held["active_layers"]), detail=plain(detail), working=working)

    @routes.get("/settings", responses=declared())
    def settings(caller: Asks) -> views.Shown:
        """Every setting and its value. Keys and passwords are not shown."""
        own = caller.engine.settings
        return views.Shown(preset=own.preset, settings=[_setting(own, *row) for row in describe()])


def _by_scope(caller: Caller) -> dict[str, int]:
    seen = [scope for scope in caller.engine.scopes(caller.owner) if caller.scope.is_owner or scope in caller.scope.chain()]
    counted = ((scope, caller.engine.store.counts(Reach(caller.owner, (scope,)))["status"]) for scope in seen[:_SCOPES])
    return {scope.key: status.get("active", 0) for scope, status in counted}


def _setting(settings: Settings, name: str, default: Any, description: str, secret: bool) -> views.Setting:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    if secret:
        value, default = bool(value), bool(default)
    return views.Setting(name=name, value=_shown(value), default=_shown(default), description=description, secret=secret)


def _shown(value: Any) -> Any:
    """As JSON; an address without its password."""
    if isinstance(value, str) and "://" in value and "@" in value:
        scheme, _, rest = value.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return plain(value)


def _point(minute: Minute) -> views.Point:
    return views.Point(
        at=datetime.fromtimestamp(minute.at * 60, UTC),
        requests=minute.requests,
        errors=minute.errors,
        writes=minute.writes,
        searches=minute.searches,
        search_p50=round(minute.share(0.5), 3),
        search_p95=round(minute.share(0.95), 3),
    )
