"""A LangGraph graph that remembers across threads, by its store; what it stores is memory like any
other.

Needs the package langgraph beside the extra. No language model: the node answers from memory.
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

import engrams
from engrams.adapters import LangGraphStore

ANN = ("user", "ann")


class State(TypedDict):
    question: str
    answer: str


def answer(state: State, *, store: BaseStore) -> dict[str, str]:
    found = store.search(("memories",), query=state["question"], limit=1)
    return {"answer": found[0].value["content"] if found else "I do not know."}


with engrams.open(store__url=":memory:") as memory:
    store = LangGraphStore(memory, ANN)
    store.put(("memories", "food"), "nuts", {"content": "Ann is allergic to nuts", "since": 2019})
    store.put(("memories", "home"), "town", {"content": "Ann lives in Oslo"})
    store.put(("settings",), "theme", {"dark": True})

    graph = (
        StateGraph(State)
        .add_node("answer", answer)
        .add_edge(START, "answer")
        .add_edge("answer", END)
        .compile(store=store)
    )
    print(graph.invoke({"question": "What is she allergic to?"})["answer"])
    print(
        "By filter:",
        [item.key for item in store.search(("memories",), filter={"since": {"$lt": 2020}})],
    )
    print("Namespaces:", store.list_namespaces())
    print("Any other door:", memory.search("Where does Ann live?", scope=ANN).hits[0].record.text)
