"""A LangChain retriever over memory, in a chain that needs no key:
pip install '.[langchain]' and run this.
"""

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

import engrams
from engrams.adapters import LangChainRetriever

ALICE = ("user", "alice")

with engrams.open(store__url=":memory:") as memory:
    memory.add("The spare key is under the blue flowerpot.", scope=ALICE)
    memory.add("The bakery opens at six.", scope=ALICE)

    retriever = LangChainRetriever(memory, ALICE, k=1)
    prompt = ChatPromptTemplate.from_template("Known: {known}\nQuestion: {question}")
    chain = {
        "known": retriever | (lambda found: found[0].page_content),
        "question": RunnablePassthrough(),
    } | prompt
    print(chain.invoke("Where is the spare key?").to_string())
