"""Garden: scheduled maintenance of all of an owner's memory.

Enter at ``garden.MemoryGarden``, which is ``engine.garden``. A cycle is asked for in ``schedule``,
begun by a job in ``cycle_job``, run in ``cycle``, and taken back in ``undo``; ``state`` is what is
kept about it. Its jobs are one module each: ``verify``, ``merge``, ``conflicts``, ``prune_unbelieved``,
``links`` (with ``strengthen``), ``tags`` and ``agent``. They share the types of ``steps``.
"""
