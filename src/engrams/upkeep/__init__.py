"""Upkeep: work on memory outside of calls, in background jobs.

Enter at ``job_worker.JobWorkerPool``, which runs the jobs of all wings; docs/contributing/jobs.md
lists the kinds with their handlers. Each folder is one kind of upkeep and names its own entry:
``garden`` (scheduled maintenance), ``topics``, ``tiers``, ``fact_review`` and ``usage``.
"""
