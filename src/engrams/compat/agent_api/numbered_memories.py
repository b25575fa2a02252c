"""Routes for an owner's control: numbered memories and the recall switch."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path

from engrams.compat.agent_api import bodies
from engrams.core import LAYER_OF, PRODUCT, UNLISTED_KINDS, Layer, Record
from engrams.errors import NotFoundError
from engrams.ports import COUNTED
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses

Product = Literal["facts", "sessions", "rules"]
_MAX_LISTED = 1000
Number = Annotated[int, Path(description="Its number in the list, from 1.")]


_LAYERS = {name: layer for layer, name in PRODUCT.items()}


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "control", prefix="/api/memory")

    @routes.get("/status", responses=error_responses())
    def status(caller: ScopedCaller) -> bodies.LayerCountsResponse:
        """Count active memories by layer; say if facts are recalled."""
        counts = {layer.value: len(_list_layer(caller, layer)) for layer in Layer}
        names = {layer.value: name for layer, name in PRODUCT.items()}
        return bodies.LayerCountsResponse(
            counts=counts, names=names, recall_enabled=caller.engine.sessions.recall(caller.owner)
        )

    @routes.patch("/recall", responses=error_responses())
    def recall(
        body: bodies.RecallSwitchRequest, caller: ScopedCaller
    ) -> bodies.RecallSwitchResponse:
        """Turn recall of facts and session summaries on or off.

        Rules are always recalled, and turns are stored either way.
        """
        return bodies.RecallSwitchResponse(
            recall_enabled=caller.engine.sessions.recall(caller.owner, body.enabled)
        )

    @routes.get("/{product}", responses=error_responses(404))
    def list_product(product: Product, caller: ScopedCaller) -> bodies.NumberedMemoryListResponse:
        """List memories of one layer, newest first, each with its number."""
        records = _list_layer(caller, _LAYERS[product])
        items = [
            bodies.NumberedMemoryResponse(
                n=number,
                id=record.id,
                kind=record.kind,
                text=record.text,
                recorded_at=record.recorded_at,
            )
            for number, record in enumerate(records, 1)
        ]
        return bodies.NumberedMemoryListResponse(items=items)

    @routes.delete("/{product}/{n}", responses=error_responses(404, 409))
    def forget(product: Product, n: Number, caller: ScopedCaller) -> bodies.ForgottenMemoryResponse:
        """Forget the memory with this number; later numbers move up.

        `/v1/memories/{id}/restore` undoes it.
        """
        records = _list_layer(caller, _LAYERS[product])
        if not 1 <= n <= len(records):
            raise NotFoundError(
                f"There are {len(records)} {product}.",
                hint=f"GET /api/memory/{product} numbers them.",
            )
        record = caller.engine.forget(
            records[n - 1].id, scope=caller.owner, reason="by its number in the list"
        )
        return bodies.ForgottenMemoryResponse(id=record.id, text=record.text)

    return routes


def _list_layer(caller: IdentifiedCaller, layer: Layer) -> list[Record]:
    """List active memories of a layer, newest first; no note beside what was learned from it.

    An order that the policy refused is none.
    """
    kinds = tuple(
        kind
        for kind, layer_of_kind in LAYER_OF.items()
        if layer_of_kind is layer and kind not in UNLISTED_KINDS
    )
    page = caller.engine.list(scope=caller.scope, kinds=kinds, where=COUNTED, limit=_MAX_LISTED)
    return list(page.records)
