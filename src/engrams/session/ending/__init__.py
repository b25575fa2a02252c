"""End of a session: what is left is learned, an account is kept, held statements are promoted.

Enter at ``finaliser.SessionFinaliser``, the handler of the finalise job. ``session_account`` tells
the session, by ``account_by_model`` or ``account_by_rules``; ``episodes`` stores it;
``held_promotion`` and ``held_review`` decide what becomes of held statements; ``gap_closing``
closes questions that the session answered.
"""
