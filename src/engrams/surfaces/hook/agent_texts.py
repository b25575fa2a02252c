"""Texts that coding agents write in the user's or the assistant's name.

Enter at ``own_words``, which leaves what the user or the assistant said themselves, and at
``is_passing``, which tells an order or an announcement from something to remember.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from engrams.text.acknowledgements import is_acknowledgement
from engrams.text.system_texts import remove_system_texts

_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)|! ?[a-z]\S*(?: [^\n]*)?$")
"""A command of the agent (``/clear``) or of the shell (``!ls``)."""
_OPENINGS = (
    # Claude Code: summary after a compaction, local commands, hooks, other sessions.
    "this session is being continued from a previous conversation",
    "caveat: the messages below were generated",
    "stop hook feedback:",
    "sessionstart hook",
    "userpromptsubmit hook",
    "userpromptsubmit operation blocked",
    "pretooluse hook",
    "posttooluse hook",
    "another claude session sent a message",
    "your task is to create a detailed summary of the conversation",
    "base directory for this skill:",
    # Codex: instructions, summary after a compaction.
    "# agents.md instructions for",
    "another language model started to solve this problem",
    "you are performing a context checkpoint compaction",
    # Gemini CLI: first message of its own.
    "this is the gemini cli. we are setting up the context",
    # opencode: its compaction, and the message with which it goes on.
    "what did we do so far?",
    "continue if you have next steps",
    "summarize the task tool output above and continue",
    "the following tool was executed by the user",
)
"""Beginnings, lower case, of messages that an agent sends as the user's."""
_ASSISTANT_OPENINGS = ("api error:", "no response requested", "credit balance is too low")
"""Beginnings, lower case, of messages that an agent writes as the assistant's."""
_TAGS = (
    r"bash-(?:input|stdout|stderr)|task-notification|agent-notification|system[_-]notification"
    r"|teammate-message|cross-session-message|channel|subagent_notification|[\w-]{1,40}-hook"
    r"|environment_context|user_instructions|instructions|turn_aborted|user_shell_command"
    r"|collaboration_mode|permissions instructions|skills?_instructions|plugins_instructions|skill"
    r"|state_snapshot|session_context|hook_context|cursor_commands|manually_attached_skills"
    r"|external_links|git_status|user_info|timestamp|open_and_recently_viewed_files|agent_skills"
    r"|always_applied_workspace_rules|mcp_instructions|fork-boilerplate|new-diagnostics|tick"
)
_BLOCK = re.compile(
    rf"(?:^[^\S\n]*|(?<=>))<({_TAGS})\b[^<>]{{0,300}}>(?:(?!</\1>).)*(?:</\1>|\Z)[^\S\n]*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
"""Cursor's frame of what the user typed, beside other blocks."""
_REFERENCED = re.compile(
    r"^--- Content from referenced files ---$.*?(?:^--- End of content ---$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Files that Gemini CLI adds for an ``@path``."""

_MOST_ECHO_WORDS = 6
_TELLING = re.compile(r"\d|[`/_]|\w\.\w|\w\(|[a-z][A-Z]")
"""Number, or form of code."""
_MOST_ORDER_WORDS = 12
_FILLERS = (
    r"(?:(?:oh|ok(?:ay)?|kk?|yes|yep|yeah|no|now|please|and|then|so|great|good|nice|cool|perfect"
    r"|looks? good|sounds good|lgtm|right|well|also|alright|thanks)\W+)*"
)
_ORDER = re.compile(
    rf"\W*{_FILLERS}(?:(?:let'?s|can you|could you|you can|go on and|go ahead and|just|first|next)\W+)*"
    r"(?:add|apply|bring|build|bump|change|check|clean|close|commit|continue|copy|create|debug|delete"
    r"|deploy|do|drop|edit|explain|extract|finish|fix|format|generate|go|implement|install|list|lint"
    r"|look|make|merge|move|open|plan|port|print|proceed|push|read|rebase|redo|refactor|release|remove"
    r"|rename|rerun|restart|restore|retry|revert|review|rewrite|run|search|ship|show|split|squash"
    r"|start|stash|stop|tag|test|tidy|try|undo|update|upgrade|verify|wire|write)\b.*",
    re.IGNORECASE,
)
_ORDER_OF_IT = re.compile(
    rf"\W*{_FILLERS}(?:commit|push|rerun|redo|retry|undo|format|send|save)"
    r" (?:it|that|this|them|everything)(?: (?:all|up|then|now|again|please|pls))*[.!]*",
    re.IGNORECASE,
)
"""Order about what the conversation has at hand: "k, push it"."""
_NEXT = re.compile(
    r"\W*(?:now|next|and|then|again)\W+(?:the|for the|with the)\b[\w\s./`'-]*[.!]*", re.IGNORECASE
)
_VAGUE_CHOICE = re.compile(
    rf"\W*{_FILLERS}(?:use|take|do|try|keep|go with)\s+(?:that|this|it|the (?:first|second|last|other|same))"
    r"(?:\s+(?:one|way))?(?:\s+(?:then|please|instead|now|here))*[.!]*",
    re.IGNORECASE,
)
_GOING_ON = re.compile(
    rf"\W*{_FILLERS}(?:go on|go ahead|carry on|keep going|continue|proceed)(?:\W+(?:and|with)\b[^.?]{{0,24}}?"
    r"\b(?:it|that|this))?\W*",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:always|never|every|each|all|only|from now on|going forward|by default|don'?t|not|no|instead"
    r"|rather|prefer|remember|because|since|must|should|i|i'm|my|we|we're|our|without|unless|before"
    r"|whenever|when|is|are|was|were|immer|nie|nur|nicht)\b|[?:;\n]",
    re.IGNORECASE,
)
"""Signs of a rule, a reason, a statement or a question."""
_MOST_REPORT_WORDS = 8
_REPORT = re.compile(
    r"[\w' -]+ (?:fails?|failed|broke|crash(?:es|ed)|hangs?|(?:is|are) (?:still |now )?(?:failing|broken|red|stuck|down|flaky))"
    r"(?: again| (?:in|on|for) [\w ]{1,24})?[.!]*",
    re.IGNORECASE,
)
"""Complaints of the moment: the note of what mended it says it again."""
_MOST_ANNOUNCEMENT_CHARS = 120
_ANNOUNCEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|sure|right|great|good|understood|got it|perfect)\W+)*"
    r"(?:will do|on it|done|ok(?:ay)?|let me|let's|i'?ll|i will|i am going to|i'm going to|i'm now"
    r"|now i|now let me|looking (?:at|into)|checking|running|working on)\b[^.\n]*[.!:…]*",
    re.IGNORECASE,
)


def own_words(text: str, role: str = "user") -> str:
    """Return what the user or the assistant said themselves; empty where an agent wrote it all.

    Reminders, dumped files, command and shell blocks, notifications, messages of other agents,
    summaries of a compaction and outputs of hooks are left out.
    """
    if "<user_query>" in text:
        text = "\n".join(match.strip() for match in _QUERY.findall(text))
    if "<" in text:
        text = _BLOCK.sub("", text)
    if "--- Content from" in text:
        text = _REFERENCED.sub("", text)
    text = remove_system_texts(text)
    if role == "user" and _COMMAND.match(text):
        return ""
    openings = _ASSISTANT_OPENINGS if role == "assistant" else _OPENINGS
    return "" if text[:100].lower().startswith(openings) else text


def asks_nothing(text: str) -> bool:
    """True for thanks, assent and choices that only the conversation explains: "use that one"."""
    stripped = text.strip()
    return is_acknowledgement(text) or any(
        pattern.fullmatch(stripped) for pattern in (_VAGUE_CHOICE, _GOING_ON, _ORDER_OF_IT)
    )


def list_echoes(messages: Sequence[tuple[str, str]]) -> frozenset[str]:
    """List the agent's short answers to what was no question: "Named exports only."

    They repeat what the user said, or what was done. One with a number, a name of code or a path
    tells something.

    ``messages``: (role, text) of a conversation, in order.
    """
    return frozenset(
        text
        for (role_before, text_before), (role, text) in pairwise(messages)
        if (role_before, role) == ("user", "assistant")
        and "?" not in text_before
        and len(text.split()) <= _MOST_ECHO_WORDS
        and _TELLING.search(text) is None
    )


def is_passing(text: str, role: str) -> bool:
    """True for words of this moment only: a short order, what fails, or what the agent is about to do.

    "now the build", "go on and plan it", "the build fails", "I'll look at the logs next." A text with a rule, a
    reason, a statement or a question is none.
    """
    if is_acknowledgement(text):
        return True
    if role == "assistant":
        is_short = len(text) <= _MOST_ANNOUNCEMENT_CHARS
        return is_short and _ANNOUNCEMENT.fullmatch(text.strip()) is not None
    if role == "user" and len(text.split()) <= _MOST_REPORT_WORDS and _REPORT.fullmatch(text):
        return True
    if role != "user" or len(text.split()) > _MOST_ORDER_WORDS or _LASTING.search(text):
        return False
    patterns = (_ORDER, _NEXT, _VAGUE_CHOICE)
    return any(pattern.fullmatch(text.strip()) for pattern in patterns)
