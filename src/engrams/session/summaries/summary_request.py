"""Question to the chat model that brings a summary up to date."""

from __future__ import annotations

from engrams import prompts
from engrams.ports import ChatMessage, ChatModel, ChatRequest

_MIN_ANSWER_TOKENS = 64


def ask_for_summary(chat: ChatModel, summary: str, addition: str, max_tokens: int) -> str:
    """Ask for one summary of the current one and an addition.

    ``max_tokens``: length that the model is told. The answer may have twice as many, so that a
    model which counts otherwise is not cut off in a word. ModelError, BudgetError: it failed.
    """
    prompt = prompts.load("summary").render(
        limit=str(max_tokens),
        summary=prompts.quote(summary) if summary else "(none)",
        new=addition,
    )
    answer = chat.ask(
        ChatRequest(
            (ChatMessage("user", prompt),),
            "summary",
            max_tokens=max(_MIN_ANSWER_TOKENS, 2 * max_tokens),
        )
    )
    return answer.text.strip()
