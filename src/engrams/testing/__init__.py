"""Test fakes: scripted model server, settable clock, deterministic embedder, temporary engine.

from engrams.testing import ScriptedModel, Ticker, temp_engine

with ScriptedModel() as model, temp_engine(chat__provider="openai", chat__model="m", chat__url=model.url) as engine:
    model.say({"facts": []})
    model.fail("http_429", times=2)"""

from engrams.testing.clock import Ticker as Ticker
from engrams.testing.engine import temp_engine as temp_engine
from engrams.testing.hashing import HashEmbedder as HashEmbedder
from engrams.testing.script import ScriptedFault as ScriptedFault
from engrams.testing.script import ScriptedReply as ScriptedReply
from engrams.testing.script import ScriptedRequest as ScriptedRequest
from engrams.testing.script import ScriptedToolCall as ScriptedToolCall
from engrams.testing.server import ScriptedModel as ScriptedModel

__all__ = [
    "HashEmbedder",
    "ScriptedFault",
    "ScriptedModel",
    "ScriptedReply",
    "ScriptedRequest",
    "ScriptedToolCall",
    "Ticker",
    "temp_engine",
]
