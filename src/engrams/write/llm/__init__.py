"""Extraction, policy and reconciliation by a chat model. What it answers is checked; what fails is asked again, then done without."""

from __future__ import annotations

from engrams.write.llm.extract import Briefing as Briefing
from engrams.write.llm.extract import extract as extract
from engrams.write.llm.parallel import lanes as lanes
from engrams.write.llm.policy import judge as judge
from engrams.write.llm.reconcile import meet as meet
