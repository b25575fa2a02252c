"""Test fakes: scripted model server, settable clock, deterministic embedder, temporary engine.

from engrams.testing import ScriptedModel, SettableClock, temp_engine

with ScriptedModel() as model, temp_engine(chat__provider="openai", chat__model="m",
chat__url=model.url) as engine:
    model.say({"facts": []})
    model.fail("http_429", times=2)
"""

from engrams.testing.clock import SettableClock
from engrams.testing.embedder import HashEmbedder
from engrams.testing.model_script import (
    ReceivedModelRequest,
    ScriptedFault,
    ScriptedReply,
    ScriptedToolCall,
)
from engrams.testing.server import ScriptedModel
from engrams.testing.temporary_engine import temp_engine

__all__ = [
    "HashEmbedder",
    "ReceivedModelRequest",
    "ScriptedFault",
    "ScriptedModel",
    "ScriptedReply",
    "ScriptedToolCall",
    "SettableClock",
    "temp_engine",
]
