"""Looking after a whole memory between conversations: plan, apply, report, undo (003)."""
