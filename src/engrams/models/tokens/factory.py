"""Build a token counter from a setting."""

from __future__ import annotations

from engrams.core.clock import now
from engrams.errors import SettingsError
from engrams.ports import Clock, TokenCounter
from engrams.text.text_caches import text_cache

_LONG = 8000


class EstimatingTokenCounter:
    """TokenCounter by estimate, which remembers short texts."""

    name = "estimate"

    def count(self, text: str) -> int:
        from engrams.models.tokens.estimate import estimate_tokens

        return _estimate_cached(text) if len(text) <= _LONG else estimate_tokens(text)


# The beginning of a context is counted a dozen times while it is fitted.
@text_cache(512)
def _estimate_cached(text: str) -> int:
    from engrams.models.tokens.estimate import estimate_tokens

    return estimate_tokens(text)


def choose_counter(name: str, clock: Clock = now) -> TokenCounter:
    """Build a counter: ``estimate``, or a tiktoken encoding; loads nothing.

    SettingsError: the name is neither.
    """
    if name == "estimate":
        return EstimatingTokenCounter()
    from engrams.models.tokens.tiktoken import ENCODINGS, TiktokenTokenCounter

    if name not in ENCODINGS:
        raise SettingsError(
            f"There is no token counter {name!r}.",
            hint=(
                f"Set `read.tokenizer` to estimate, {', '.join(ENCODINGS[:-1])} or {ENCODINGS[-1]}."
            ),
        )
    return TiktokenTokenCounter(name, clock)
