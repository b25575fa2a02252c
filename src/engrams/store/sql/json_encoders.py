"""Encoders of compact JSON that are set up once.

``JSONEncoder.encode`` makes its C encoder anew for each value, which takes as long as a small value.
"""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder
from json import encoder as json_encoder
from typing import Any


def make_encoder(encoder: JSONEncoder) -> Callable[[Any], str]:
    """Make a function that encodes as ``encoder.encode`` does; it does not look for cycles.

    It raises what ``encode`` raises: TypeError and ValueError for values that are no JSON.
    """
    make_c_encoder: Any = getattr(json_encoder, "c_make_encoder", None)
    if make_c_encoder is None:
        return encoder.encode
    escape = (
        json_encoder.encode_basestring_ascii
        if encoder.ensure_ascii
        else json_encoder.encode_basestring
    )
    encode_pieces = make_c_encoder(
        None,
        encoder.default,
        escape,
        encoder.indent,
        encoder.key_separator,
        encoder.item_separator,
        encoder.sort_keys,
        encoder.skipkeys,
        encoder.allow_nan,
    )
    join = "".join

    def encode(value: Any) -> str:
        return join(encode_pieces(value, 0))

    return encode
