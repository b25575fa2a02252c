"""PocketSphinx behind ``POST /v1/audio/transcriptions``: run by another Python, with a port.

It knows WAV alone, and English. Its model comes inside of its package.
"""

from __future__ import annotations

import array
import io
import json
import sys
import wave
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, HTTPServer

from pocketsphinx import Decoder

_HERTZ = 16_000


class SpeechRequestHandler(BaseHTTPRequestHandler):
    """Answers with the words of the file in a form."""

    def do_POST(self) -> None:
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        body = self.rfile.read(int(self.headers["content-length"]))
        form = message_from_bytes(head + body, policy=policy.default)
        files = [part for part in form.iter_parts() if part.get_filename()]
        answer = json.dumps({"text": recognise(files[0].get_content())}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def recognise(data: bytes) -> str:
    """Write down what is said in a WAV of one channel."""
    with wave.open(io.BytesIO(data)) as sound:
        samples = array.array("h", sound.readframes(sound.getnframes()))
        step = sound.getframerate() / _HERTZ
    resampled = array.array(
        "h", (samples[int(at * step)] for at in range(int(len(samples) / step)))
    )
    decoder = Decoder(loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(resampled.tobytes(), full_utt=True)
    decoder.end_utt()
    hypothesis = decoder.hyp()
    return hypothesis.hypstr if hypothesis else ""


HTTPServer(("127.0.0.1", int(sys.argv[1])), SpeechRequestHandler).serve_forever()
