"""Keys, region and endpoint of S3, as the tools of AWS find them: in the environment, then in their files."""

from __future__ import annotations

import os
from configparser import ConfigParser, SectionProxy
from configparser import Error as ConfigError
from pathlib import Path

from engrams.errors import InputError
from engrams.sync.aws_signature import AwsKeys
from engrams.sync.places import PlaceAccess

_DEFAULT = "default"
_REGION = "us-east-1"
"""Region where nothing names one, as the tools of AWS and most compatible servers take it."""


def find_keys(access: PlaceAccess) -> AwsKeys:
    """Find the key to sign with: the one given for the place, or that of the tools of AWS.

    InputError: there is none.
    """
    if access.user:
        return AwsKeys(access.user, access.password)
    if key_id := os.environ.get("AWS_ACCESS_KEY_ID", ""):
        secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
        return AwsKeys(key_id, secret, os.environ.get("AWS_SESSION_TOKEN", ""))
    profile = _read_profile("AWS_SHARED_CREDENTIALS_FILE", "credentials", "")
    if profile is not None and "aws_access_key_id" in profile:
        return AwsKeys(
            profile["aws_access_key_id"],
            profile.get("aws_secret_access_key", ""),
            profile.get("aws_session_token", ""),
        )
    raise InputError(
        "S3 needs a key.",
        hint="Give its id by --login and its secret when asked, or set AWS_ACCESS_KEY_ID and"
        " AWS_SECRET_ACCESS_KEY.",
    )


def find_region() -> str:
    """Find the region of buckets."""
    return (
        os.environ.get("AWS_REGION", "")
        or os.environ.get("AWS_DEFAULT_REGION", "")
        or _read_config("region")
        or _REGION
    )


def find_endpoint() -> str:
    """Find the address of the server; empty: the one of AWS."""
    return (
        os.environ.get("AWS_ENDPOINT_URL_S3", "")
        or os.environ.get("AWS_ENDPOINT_URL", "")
        or _read_config("endpoint_url")
    )


def _read_config(name: str) -> str:
    profile = _read_profile("AWS_CONFIG_FILE", "config", "profile ")
    return "" if profile is None else profile.get(name, "")


def _read_profile(variable: str, file_name: str, prefix: str) -> SectionProxy | None:
    """Read the chosen profile of a file of AWS. None: there is none.

    InputError: the file cannot be read.
    """
    path = Path(os.environ.get(variable, "") or Path.home() / ".aws" / file_name)
    profile = os.environ.get("AWS_PROFILE", "") or _DEFAULT
    section = profile if profile == _DEFAULT else prefix + profile
    parser = ConfigParser(interpolation=None, default_section="")
    try:
        parser.read(path, encoding="utf-8")
    except (ConfigError, OSError, UnicodeDecodeError):
        # The message of the parser would show lines of the file.
        raise InputError(
            f"{path} cannot be read.", hint="Correct it, or set the variables AWS_… instead."
        ) from None
    return parser[section] if parser.has_section(section) else None
