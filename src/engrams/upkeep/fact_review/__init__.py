"""Review of facts: a chat model names outdated ones and merges related ones; it can be undone.

Enter at ``reviewer.FactReviewer``, which is ``engine.review``. ``model_questions`` asks the model,
``review_plan`` is what it proposes and the write that carries it out.
"""
