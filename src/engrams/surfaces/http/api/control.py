"""Memory as its owner controls it: what there is under the names people are shown, numbered, and the toggle of recall."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path

from engrams.errors import NotFoundError
from engrams.settings import Settings
from engrams.surfaces.http.api import shapes
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.types import LAYER_OF, PRODUCT, Kind, Layer, Record

Product = Literal["facts", "sessions", "rules"]
_HIDDEN = (Kind.TURN, Kind.EXCHANGE, Kind.GAP)
"""Of the sessions their accounts are listed, not every word that was said."""

_MOST = 1000
Number = Annotated[int, Path(ge=1, le=1_000_000, description="Its number in the list, from 1.")]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/api/memory", tags=["control"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/status", responses=declared())
    def status(caller: Asks) -> shapes.Status:
        """How many memories there are of each layer, and whether facts are recalled."""
        held = caller.engine.store.counts(caller.reach)["active_layers"]
        counts = {layer.value: held.get(layer, 0) for layer in Layer}
        names = {layer.value: name for layer, name in PRODUCT.items()}
        return shapes.Status(counts=counts, names=names, recall_enabled=caller.engine.sessions.recall(caller.owner))

    @routes.patch("/recall", responses=declared())
    def recall(body: shapes.Recall, caller: Asks) -> shapes.Toggled:
        """Whether facts and accounts of sessions are recalled. Rules always are, and what is said is kept all the same."""
        return shapes.Toggled(recall_enabled=caller.engine.sessions.recall(caller.owner, body.enabled))

    @routes.get("/{product}", responses=declared(404))
    def listed(product: Product, caller: Asks) -> shapes.Listed:
        """What there is, the newest first, each with its number."""
        rows = _kept(caller, _LAYERS[product])
        items = [
            shapes.Numbered(n=number, id=each.id, kind=each.kind, text=each.text, recorded_at=each.recorded_at)
            for number, each in enumerate(rows, 1)
        ]
        return shapes.Listed(items=items)

    @routes.delete("/{product}/{n}", responses=declared(404, 409))
    def forget(product: Product, n: Number, caller: Asks) -> shapes.Gone:
        """Forget the one with this number; those behind it move up. `/v1/memories/{id}/restore` brings it back."""
        rows = _kept(caller, _LAYERS[product])
        if n > len(rows):
            raise NotFoundError(f"There are {len(rows)} {product}.", hint=f"GET /api/memory/{product} numbers them.")
        record = caller.engine.forget(rows[n - 1].id, scope=caller.owner, reason="by its number in the list")
        return shapes.Gone(id=record.id, text=record.text)

    return routes


_LAYERS = {name: layer for layer, name in PRODUCT.items()}


def _kept(caller: Caller, layer: Layer) -> list[Record]:
    """Active memories of a layer, the newest first."""
    kinds = tuple(kind for kind, own in LAYER_OF.items() if own is layer and kind not in _HIDDEN)
    return list(caller.engine.list(scope=caller.scope, kinds=kinds, limit=_MOST).records)
