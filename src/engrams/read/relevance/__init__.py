"""Probability that a memory helps with a prompt: enter at ``judgement.judge_search``."""
