"""Tags inferred from a text: its files, tools and fields. Enter at ``infer_tags``."""

from __future__ import annotations

import re
from dataclasses import replace

from engrams.extract.candidate import CandidateStatement
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_vocabulary, word_set

ASK_TAGS = (
    '\n\nGive each statement "tags" too: up to three words for what it is about, such as a'
    " language, a tool, a project or a field."
)
"""Request for tags, behind the extraction prompt."""
_MAX_TAGS = 6
_PATH = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]{1,6}\b(?!/)")
_LANGUAGE_OF = {
    "rs": "rust",
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "tsx": "typescript",
    "go": "go",
    "java": "java",
    "kt": "kotlin",
    "rb": "ruby",
    "php": "php",
    "cs": "csharp",
    "cpp": "cpp",
    "cc": "cpp",
    "hpp": "cpp",
    "swift": "swift",
    "scala": "scala",
    "ex": "elixir",
    "hs": "haskell",
    "lua": "lua",
    "sh": "shell",
    "sql": "sql",
    "tf": "terraform",
    "css": "css",
    "html": "html",
    "vue": "vue",
}
_PLAIN_FOLDERS = word_set(
    "src lib libs app apps main core pkg cmd internal test tests docs doc dist build bin home tmp"
    " usr var opt etc"
)
_FIELDS = {
    "auth": (
        "auth authentication authorization login oauth oauth2 jwt sso password passwords argon2"
        " bcrypt saml"
    ),
    "database": (
        "database databases postgres postgresql mysql mariadb sqlite mongodb oracle redis dynamodb"
    ),
    "deployment": "deploy deploys deployed deployment kubernetes helm terraform ansible rollout",
    "testing": "pytest junit jest unittest testsuite",
    "ci": "ci jenkins gitlab-ci github-actions",
}
_TOOLS = word_set(read_vocabulary(__file__, "tools"))
_SAME = {"postgres": "postgresql", "k8s": "kubernetes", "js": "javascript", "golang": "go"}
_FIELD_OF = {word: field for field, words in _FIELDS.items() for word in words.split()}


def infer_tags(text: str) -> tuple[str, ...]:
    """Infer at most six tags, in the order of their appearance.

    ``In src/auth/login.rs we use Argon2`` gives rust and auth.
    """
    tags: dict[str, None] = {}
    head = text[:4000]
    for path in _PATH.finditer(head):
        *folders, name = path[0].split("/")
        language = _LANGUAGE_OF.get(name.rpartition(".")[2].lower())
        if language:
            tags.setdefault(language)
            # The folder that holds a source file names its subject, unless it is called ``src``.
            for folder in folders[-1:]:
                if folder.lower() not in _PLAIN_FOLDERS and folder.strip("."):
                    tags.setdefault(folder.lower())
    for word in tokens(_PATH.sub(" ", head)):
        plain = _SAME.get(word, word)
        if plain in _TOOLS:
            tags.setdefault(plain)
        if word in _FIELD_OF:
            tags.setdefault(_FIELD_OF[word])
    return tuple(tags)[:_MAX_TAGS]


def tag_candidate(candidate: CandidateStatement) -> CandidateStatement:
    """Add inferred tags to a candidate."""
    quotes = " ".join(item.quote for item in candidate.evidence)
    tags = tuple(dict.fromkeys((*candidate.tags, *infer_tags(f"{candidate.text} {quotes}"))))
    return candidate if tags == candidate.tags else replace(candidate, tags=tags)
