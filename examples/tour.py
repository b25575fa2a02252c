"""Load the sample conversation into a throw-away memory and ask it questions: no model, no key, no
network.

Each question gets the three nearest memories, as a chat model would.
"""

import time

import engrams
from engrams import demo

HOME = ("user", "mina-and-theo")

with engrams.open(store__url=":memory:") as memory:
    report = memory.load(demo.sample_path(), scope=HOME)
    memory.drain()
    print(
        f"Loaded {report.stored} turns of a year in the life of Mina, Theo and Bruno the beagle.\n"
    )

    for question in demo.load_questions()[:12]:
        start = time.perf_counter()
        found = memory.search(question.text, scope=HOME, limit=3)
        milliseconds = 1000 * (time.perf_counter() - start)
        print(f"? {question.text}   [{milliseconds:.1f} ms]")
        for hit in found.hits:
            said = hit.record
            print(
                f"  {said.recorded_at:%d %b %Y} {said.speaker or said.kind}: {said.text}  "
                f" [{hit.score:.2f}]"
            )
