"""The settings object, its layers and its description."""

from __future__ import annotations

import getpass
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field, PrivateAttr, ValidationError
from pydantic.fields import FieldInfo

from engrams.errors import ScopeError, SettingsError
from engrams.frozen_data import dataclass
from engrams.settings.background import (
    GardenSettings,
    JobSettings,
    ReviewSettings,
    ScopeCapSettings,
    SessionSettings,
    SummarySettings,
    TierSettings,
    TopicSettings,
    UpkeepSettings,
    UsageSettings,
)
from engrams.settings.core import (
    ChatSettings,
    EmbedSettings,
    EncryptionSettings,
    QuotaSettings,
    SettingsSection,
    SizeLimitSettings,
    StoreSettings,
)
from engrams.settings.read import (
    DeliverySettings,
    LinkExpansionSettings,
    ReadSettings,
    RerankSettings,
)
from engrams.settings.serve import (
    AuditSettings,
    CrisisLogSettings,
    FeedbackSettings,
    ServeSettings,
    SkillSettings,
    VaultSettings,
)
from engrams.settings.write import WriteSettings

_NAME_HINT = (
    'Give `--user NAME`, or `user = "NAME"` in config.toml (ENGRAMS_USER in the environment).'
)

_PASSPHRASES = ("ENGRAMS_PASSPHRASE", "ENGRAMS_NEW_PASSPHRASE")
"""Variables that are no settings: a passphrase belongs to no file."""

_FOREIGN = "environment"
"""Section of a preset with variables of the system that it follows."""

_SILENT_MODES = ("incognito", "guest")

TEST_FOLDER = "test-mode"
"""The folder of test mode in the home. A home of that name is one of test mode already."""


class Settings(SettingsSection):
    """Every setting. Build with ``load``; change with ``model_copy(update=...)``."""

    home: Path = Field(Path("~/.engrams"), description="The home folder.")
    preset: str = Field("default", description="Preset that the values start from.")
    user: str = Field(
        "",
        description="Owner of the memory that commands without --user use. Empty: the login name.",
    )
    enabled: bool = Field(True, description="Off: nothing is read, written or run.")
    incognito: bool = Field(
        False, description="Keep memory in this process only, with no trace on disk."
    )
    test: bool = Field(
        False, description="Keep everything in a home of its own, the folder test-mode of the home."
    )
    limits: SizeLimitSettings = SizeLimitSettings()
    quota: QuotaSettings = QuotaSettings()
    store: StoreSettings = StoreSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    embed: EmbedSettings = EmbedSettings()
    chat: ChatSettings = ChatSettings()
    write: WriteSettings = WriteSettings()
    read: ReadSettings = ReadSettings()
    rerank: RerankSettings = RerankSettings()
    graph: LinkExpansionSettings = LinkExpansionSettings()
    topics: TopicSettings = TopicSettings()
    tiers: TierSettings = TierSettings()
    caps: ScopeCapSettings = ScopeCapSettings()
    summary: SummarySettings = SummarySettings()
    review: ReviewSettings = ReviewSettings()
    garden: GardenSettings = GardenSettings()
    upkeep: UpkeepSettings = UpkeepSettings()
    usage: UsageSettings = UsageSettings()
    delivery: DeliverySettings = DeliverySettings()
    sessions: SessionSettings = SessionSettings()
    jobs: JobSettings = JobSettings()
    serve: ServeSettings = ServeSettings()
    vault: VaultSettings = VaultSettings()
    skills: SkillSettings = SkillSettings()
    audit: AuditSettings = AuditSettings()
    safety: CrisisLogSettings = CrisisLogSettings()
    feedback: FeedbackSettings = FeedbackSettings()

    _login: str = PrivateAttr("")

    def model_post_init(self, context: Any, /) -> None:
        self._login = context["login"] if context else _find_login(os.environ)

    @property
    def is_volatile(self) -> bool:
        """True where memory is kept in this process only."""
        return self.incognito or self.store.url == ":memory:"

    @property
    def config_file(self) -> Path:
        """File of the home's settings; test mode has none of its own."""
        home = self.home.expanduser()
        return (home.parent if self.test and home.name == TEST_FOLDER else home) / "config.toml"

    @property
    def owner(self) -> str:
        """Default owner of a call that names none.

        ``user``, else the login name as it was when the settings were made.

        SettingsError: neither is known, as in a container whose user has no name. ScopeError:
        ``sessions.owner`` is ``thread``.
        """
        if not self.user and self.sessions.owner == "thread":
            raise ScopeError(
                "Nobody says whose memory this is.",
                hint="Name a person (--user) or a conversation (--conversation).",
            )
        if not (self.user or self._login):
            raise SettingsError(
                "Nobody says whose memory this is: `user` is not set, and this login has no name.",
                hint=_NAME_HINT,
            )
        return self.user or self._login

    def owner_labels(self, thread: str = "") -> tuple[str, str]:
        """Owner of a call that names nobody, in the conversation ``thread``."""
        by_thread = thread and not self.user and self.sessions.owner == "thread"
        return ("session", thread) if by_thread else ("user", self.owner)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings and, for each dotted name, the layer its value came from."""

    settings: Settings
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting.

    ``range``: its choices or bounds as text. ``presets``: the values that presets give it.
    """

    name: str
    default: Any
    text: str
    secret: bool
    range: str
    presets: Mapping[str, Any]


def load(
    arguments: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> LoadedSettings:
    """Load settings from presets, files, variables and arguments.

    ``arguments``: dotted names to values, strongest. SettingsError names the wrong one.
    """
    env = os.environ if environ is None else environ
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    from_env = _environment(env)
    home = Path(str(given.get("home") or from_env.get("home") or "~/.engrams")).expanduser()
    file = home / "config.toml"
    from_file = _flatten(_parse_toml(file.read_text("utf-8"), str(file))) if file.is_file() else {}
    preset = str(
        given.get("preset") or from_env.get("preset") or from_file.get("preset") or "default"
    )
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    from_env = {**_read_foreign(preset, env), **from_env}
    layers = [
        (f"preset {preset}", _preset(preset)),
        (str(file), from_file),
        ("environment", from_env),
        ("argument", given),
    ]
    for source, layer in layers:
        values.update(layer)
        origin.update(dict.fromkeys(layer, source))
    values["home"] = home
    values["preset"] = preset
    if values.get("sessions.mode") in _SILENT_MODES:
        values |= {"sessions.mode": "local", "incognito": True}
    try:
        settings = Settings.model_validate(_nest(values), context={"login": _find_login(env)})
    except ValidationError as problem:
        raise _explain(problem, origin) from None
    return LoadedSettings(in_test_mode(settings), origin)


def change_settings(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """Copy the settings with some values, by dotted name, validated again."""
    tree = settings.model_dump()
    for name, value in given.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node[section]
        node[last] = value
    return Settings.model_validate(tree)


def in_test_mode(settings: Settings) -> Settings:
    """Move memory into the home of test mode.

    Idempotent; no database, folder or remote stays outside of it. SettingsError: these are no
    settings.
    """
    if not isinstance(settings, Settings):
        raise SettingsError(
            f"Settings are wanted, not {type(settings).__name__}.",
            hint='Give the folder as home: engrams.open(home="…").',
        )
    if not settings.test:
        return settings
    home = settings.home if settings.home.name == TEST_FOLDER else settings.home / TEST_FOLDER
    url = settings.store.url if settings.store.url == ":memory:" else ""
    store = settings.store.model_copy(update={"url": url})
    vault = settings.vault.model_copy(update={"path": "", "remote": ""})
    return settings.model_copy(update={"home": home, "store": store, "vault": vault})


def describe() -> tuple[SettingInfo, ...]:
    """Describe every setting, in the order of the settings object."""
    given = {name: _preset(name) for name in presets()}
    return tuple(
        SettingInfo(
            name=name,
            default=info.default,
            text=info.description or "",
            secret=_is_secret(info),
            range=_range_of(info),
            presets={preset: values[name] for preset, values in given.items() if name in values},
        )
        for name, info in _fields(Settings, "")
    )


def names() -> dict[str, Any]:
    """Dotted name of every setting -> its default."""
    return {name: info.default for name, info in _fields(Settings, "")}


def preset_cosines(settings: Settings) -> dict[str, float]:
    """Cosines that stand as their preset gives them, by dotted name.

    0 switches off and is none.
    """
    given = {
        name: value
        for name, value in _preset(settings.preset).items()
        if name.endswith("_cosine") or name == "read.min_scores.dense"
    }
    return {
        name: float(value)
        for name, value in given.items()
        if value and attrgetter(name)(settings) == value
    }


def secret_names() -> frozenset[str]:
    """Dotted names of the settings that are never shown."""
    return frozenset(name for name, info in _fields(Settings, "") if _is_secret(info))


def suggest(name: str, known: Sequence[str]) -> str:
    """A "did you mean" for an unknown name; else empty."""
    near = get_close_matches(name, known, 3)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def presets() -> tuple[str, ...]:
    """The names of the presets that ship."""
    folder = resources.files("engrams") / "presets"
    return tuple(
        sorted(
            item.name.removesuffix(".toml")
            for item in folder.iterdir()
            if item.name.endswith(".toml")
        )
    )


def _find_login(env: Mapping[str, str]) -> str:
    """Return the login name; empty where there is none."""
    if named := next(
        (env[name] for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if env.get(name)), ""
    ):
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _fields(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in section.model_fields.items():
        if isinstance(info.default, BaseModel):
            yield from _fields(type(info.default), f"{prefix}{name}.")
        else:
            yield prefix + name, info


def _is_secret(info: FieldInfo) -> bool:
    return isinstance(info.json_schema_extra, dict) and bool(info.json_schema_extra.get("secret"))


def _range_of(info: FieldInfo) -> str:
    """The choices or the bounds of a setting, as text."""
    kind = info.annotation
    kinds = [kind, *get_args(kind)]
    choices = next((get_args(one) for one in kinds if get_origin(one) is Literal), ())
    if choices:
        also = (
            info.json_schema_extra.get("also", "")
            if isinstance(info.json_schema_extra, dict)
            else ""
        )
        return ", ".join((*choices, *str(also).split()))
    if bool in kinds:
        return "true, false"
    bounds = {
        name: value
        for item in info.metadata
        for name in ("ge", "gt", "le", "lt")
        if (value := getattr(item, name, None)) is not None
    }
    if "ge" in bounds:
        low = f"≥ {bounds['ge']:g}"
    elif "gt" in bounds:
        low = f"> {bounds['gt']:g}"
    else:
        low = ""
    if "le" in bounds:
        high = f"≤ {bounds['le']:g}"
    elif "lt" in bounds:
        high = f"< {bounds['lt']:g}"
    else:
        high = ""
    return ", ".join(part for part in (low, high) if part)


def _explain(problem: ValidationError, origin: Mapping[str, str]) -> SettingsError:
    """Turn the first problem into an error with a hint."""
    first = problem.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    place = next(
        (origin[known] for known in origin if known == name or known.startswith(f"{name}.")), ""
    )
    where = f" ({place})" if place else ""
    infos = {info.name: info for info in describe()}
    info = infos.get(name)
    match first["type"]:
        case "extra_forbidden":
            known = [*infos, *dict.fromkeys(known.rpartition(".")[0] for known in infos)]
            return SettingsError(
                f"There is no setting {name!r}{where}.",
                hint=suggest(name, known) or "`engrams config` shows the settings.",
            )
        case "literal_error" if info is not None:
            hint = suggest(str(first["input"]), info.range.split(", "))
            return SettingsError(
                f"Setting {name!r}{where} is {first['input']!r}; it takes one of: {info.range}.",
                hint=hint,
            )
        case _:
            allowed = f" It takes: {info.range}." if info is not None and info.range else ""
            return SettingsError(f"Setting {name!r}{where}: {first['msg']}.{allowed}")


def _preset(name: str) -> dict[str, Any]:
    if name not in presets():
        raise SettingsError(
            f"There is no preset {name!r}.", hint=f"The presets are: {', '.join(presets())}."
        )
    return _flatten(
        {section: held for section, held in _read_preset(name).items() if section != _FOREIGN}
    )


def _read_preset(name: str) -> dict[str, Any]:
    return _parse_toml(
        (resources.files("engrams") / "presets" / f"{name}.toml").read_text("utf-8"), name
    )


def _read_foreign(preset: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Read environment variables of the system that a preset imitates.

    ``NAME = ["setting", "other=value"]``: its value for the first, and what goes with it.
    """
    known = _read_preset(preset).get(_FOREIGN, {}) if preset in presets() else {}
    found: dict[str, Any] = {}
    for name, (setting, *others) in known.items():
        if name in env:
            found[setting] = (
                env[name].partition("/api")[0] if setting.endswith(".url") else env[name]
            )
            found |= dict(other.split("=", 1) for other in others)
    return found


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{where} is not valid TOML: {problem}.", hint="Correct the file or move it aside."
        ) from None


def _environment(env: Mapping[str, str]) -> dict[str, Any]:
    known = names()
    found: dict[str, Any] = {}
    for key, value in env.items():
        if key.startswith("ENGRAMS_") and key not in _PASSPHRASES:
            name = key.removeprefix("ENGRAMS_").lower().replace("__", ".")
            if name not in known:
                raise SettingsError(
                    f"The variable {key} names no setting.", hint=suggest(name, list(known))
                )
            found[name] = (
                [part for part in value.split(",") if part]
                if isinstance(known[name], tuple)
                else value
            )
    return found


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return tree
