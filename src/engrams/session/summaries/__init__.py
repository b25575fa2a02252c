"""Running summaries of a conversation: of the prompt messages that no longer fit, and of what was
learned from it.

Enter at ``summariser.ConversationSummariser``, which is ``engine.summaries``. ``prompt_window`` fits
messages into a prompt's budget with the pure functions of ``message_window``; ``message_flush``
stores messages before they leave the prompt; ``rolling_summary_job`` is the job after learning;
``summary_records`` finds and saves both kinds of summary.
"""
