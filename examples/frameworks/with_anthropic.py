"""Claude's memory tool over engrams: the model's files are documents, and its memories are files it
can read and edit.

The commands of a model are played here; with a key:
``client.beta.messages.tool_runner(tools=[tool], …)``.
"""

import tempfile

import engrams
from engrams.adapters import AnthropicMemoryTool

ANN = ("user", "ann")

with (
    tempfile.TemporaryDirectory() as home,
    engrams.open(home=home, vault__enabled=True, vault__git=False) as memory,
):
    memory.add("My dentist is Doctor Brown.", scope=ANN)
    memory.drain()
    tool = AnthropicMemoryTool(memory, ANN)

    plan = {
        "command": "create",
        "path": "/memories/apollo.md",
        "file_text": "# Apollo\n\nApollo ships in June.\n",
    }
    print(tool.call(plan))
    print(
        tool.call(
            {
                "command": "str_replace",
                "path": "/memories/apollo.md",
                "old_str": "June",
                "new_str": "July",
            }
        ).splitlines()[0]
    )
    print(tool.call({"command": "view", "path": "/memories"}))
    print(
        "A search finds it:",
        memory.search("When does Apollo ship?", scope=ANN).hits[0].record.text.splitlines()[-1],
    )
