"""Learning from use: which memories searches select, what helped, what questions found nothing.

Enter at ``usage_tracker.MemoryUsageTracker``, which gathers uses and writes them in the background.
``search_usage`` is one search's use; ``usage_learning`` says what uses change.
"""
