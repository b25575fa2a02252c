"""A web service with one memory for all its users, as a developer writes it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import engrams
from engrams import AsyncMemoryEngine, Turn
from engrams.types import Kind


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with AsyncMemoryEngine(engrams.open(home="home")) as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


def memory_of(request: Request) -> AsyncMemoryEngine:
    memory: AsyncMemoryEngine = request.app.state.memory
    return memory


def scope_of(request: Request) -> tuple[str, ...]:
    return ("user", request.headers["x-user"])


@app.post("/messages")
async def remember(request: Request, text: str) -> dict[str, str]:
    receipt = await memory_of(request).add(
        Turn(text, meta={"channel": "web"}), scope=scope_of(request)
    )
    return {"id": receipt.id, "outcome": receipt.outcome}


@app.get("/search")
async def search(request: Request, question: str, since: int = 0) -> list[dict[str, str | float]]:
    result = await memory_of(request).search(
        question, scope=scope_of(request), kinds=(Kind.FACT,), where={"meta.size": {"gte": since}}
    )
    if result.abstain:
        return []
    return [
        {"text": hit.record.text, "score": hit.score, "status": hit.status.value}
        for hit in result.hits
    ]


@app.get("/context")
async def read_context(request: Request, question: str) -> dict[str, str]:
    context = await memory_of(request).context(question, scope=scope_of(request), tokens=800)
    return {"text": context.text}


@app.delete("/me")
async def erase(request: Request) -> bool:
    scope = scope_of(request)
    report = await memory_of(request).purge_all(scope)
    return report.proven


@app.exception_handler(engrams.EngramsError)
async def tell_problem(_: Request, problem: Exception) -> JSONResponse:
    return JSONResponse({"error": str(problem)}, status_code=400)
