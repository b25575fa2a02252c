"""API keys of a server as hashes, and the quotas of requests that are made with them."""

from engrams.api_keys.key_files import ApiKeyFiles
from engrams.api_keys.key_store import PREFIX, RIGHTS, ApiKeyStore
from engrams.api_keys.request_quota import RequestQuotaCounter
from engrams.ports import ApiKey

__all__ = [
    "PREFIX",
    "RIGHTS",
    "ApiKey",
    "ApiKeyFiles",
    "ApiKeyStore",
    "RequestQuotaCounter",
]
