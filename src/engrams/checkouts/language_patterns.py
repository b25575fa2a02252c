"""Patterns that find definitions in languages without a parser here, by kind of language.

The group ``name`` is the defined name, ``open`` or ``open2`` the parenthesis of its parameters,
``value`` its value, ``owner`` the type of a method.
"""

from __future__ import annotations

import re

COMMENT_OR_STRING = re.compile(
    r'"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|`(?:\\.|[^`\\])*`"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
_NAME = r"[A-Za-z_$][\w$]*"
_MODIFIERS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|override|async"
    r"|readonly|virtual|sealed|inline|extern|unsafe|const|pub(?:\([\w:]+\))?|open|suspend|data|get|set)\s+)*"
)
BRACE_PATTERNS = (
    rf"^[ \t]*{_MODIFIERS}(?:function\s*\*?|fn|fun|func|def)\s+(?P<name>{_NAME})(?:<[^>(]*>)?\s*(?P<open>\()",
    rf"^[ \t]*{_MODIFIERS}(?:class|interface|type|enum|struct|trait|union|namespace|module|object|record|mod|macro_rules!)"
    rf"\s+(?P<name>{_NAME})",
    rf"^[ \t]*{_MODIFIERS}(?:const|let|var|val|static)\s+(?:mut\s+)?(?P<name>{_NAME})[^=\n(]{{0,80}}=(?![=>])\s*"
    rf"(?:async\s+)?(?:function\s*\*?\s*(?:{_NAME})?\s*(?P<open>\()|(?P<open2>\()(?=[^\n]*=>)|(?P<value>[^\n]*))",
    rf"^[ \t]*(?P<name>(?:{_NAME}\.)+{_NAME})\s*=(?![=>])\s*"
    rf"(?:async\s+)?(?:function\s*\*?\s*(?:{_NAME})?\s*(?P<open>\()|(?P<open2>\()(?=[^\n]*=>)|(?P<value>[^\n]*))",
    rf"^[ \t]*[\"']?(?P<name>{_NAME})[\"']?\s*:\s*(?:async\s+)?(?:function\s*\*?\s*(?:{_NAME})?\s*(?P<open>\()"
    rf"|(?P<open2>\()(?=[^\n]*=>)|(?P<value>[^\n]*))",
    rf"^[ \t]*{_MODIFIERS}(?:\*\s*)?#?(?P<name>{_NAME})\s*(?:<[^>(]*>)?(?P<open>\()(?=[^;{{}}]*\)[^;{{}}()]*\{{)",
    # Methods and functions of languages that name the type first.
    rf"^[ \t]*{_MODIFIERS}[\w:<>\[\],*&? ]+[ *&]+(?P<name>[A-Za-z_]\w*)\s*(?P<open>\()(?=[^;{{}}]*\)[^;{{}}]*\{{)",
    rf"^[ \t]*#\s*define\s+(?P<name>{_NAME})(?P<value>[^\n]*)",
    rf"^[ \t]*{_MODIFIERS}#?(?P<name>{_NAME})\s*(?::[^=\n]{{1,60}})?=(?![=>])\s*(?P<value>[^\n]*)",
)
GO_PATTERNS = (
    rf"^func\s+\(\s*(?:\w+\s+)?\*?(?P<owner>\w+)[^)]*\)\s*(?P<name>{_NAME})\s*(?P<open>\()",
    rf"^func\s+(?P<name>{_NAME})\s*(?:\[[^\]]*\])?\s*(?P<open>\()",
    rf"^[ \t]*type\s+(?P<name>{_NAME})\b",
    rf"^[ \t]*(?:const|var)\s+(?P<name>{_NAME})[^=\n]*(?:=\s*(?P<value>[^\n]*))?",
    # Inside of a block of constants or variables, and fields of a struct.
    rf"^\t(?P<name>{_NAME})(?:[ \t]+[\w.\[\]*]+)?[ \t]+=[ \t]+(?P<value>[^\n]*)",
    rf"^\t(?P<name>{_NAME})[ \t]+(?=[\w.\[\]*(){{}}]+(?:[ \t]+`[^`\n]*`)?[ \t]*$)",
    r"^\t(?P<name>[A-Z]\w*)[ \t]*$",
)
SCRIPT_PATTERNS = (
    rf"^[ \t]*(?:async\s+)?(?:def|function|local function|defp|defmodule)\s+(?:self\.)?(?P<name>{_NAME}[?!]?)\s*(?P<open>\(?)",
    rf"^[ \t]*(?:class|module)\s+(?P<name>{_NAME})",
    rf"^[ \t]*create\s+(?:or\s+replace\s+)?(?:table|view|index|function|type)\s+(?:if\s+not\s+exists\s+)?(?P<name>{_NAME})",
    rf"^[ \t]*(?:export\s+|local\s+|readonly\s+)?(?P<name>{_NAME})\s*=(?!=)\s*(?P<value>[^\n]*)",
    rf"^[ \t]*(?P<name>{_NAME})\s*\(\)\s*\{{",
)
CONFIG_PATTERNS = (
    r"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?[\"']?(?P<name>[\w.\-/]+)[\"']?[ \t]*(?::(?!=)|\??:?=)[ \t]*(?P<value>[^\n]*)",
    r"^[ \t]*\[+[ \t]*(?P<name>[\w.\-\"' ]+?)[ \t]*\]+",
    r"^(?:ARG|ENV)\s+(?P<name>\w+)[= ]?(?P<value>[^\n]*)",
)
JSON_PATTERNS = (r"\"(?P<name>[^\"\n]{1,80})\"\s*:\s*(?P<value>[^\n]*)",)
KEYWORDS = frozenset(
    """if for while switch catch return function else do with case default new typeof await yield throw
    super import export from in of this try finally sizeof match loop where elif unless until""".split()
)
