"""A real recogniser writes down a real recording: what was said is found by its words."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.models_real.conftest import ROOT, find_free_port, running

from engrams.core.document_location import read_location
from engrams.testing import temp_engine

ANN = ("user", "ann")
PYTHON = ROOT / ".cache/speech/bin/python"
RECORDINGS = "lib/python*/site-packages/moonshine_voice/assets/two_cities.wav"
"""The beginning of a novel by Dickens, read by a person."""
SECONDS = 9


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The first seconds of the recording."""
    path = next((ROOT / ".cache/speech").glob(RECORDINGS), None)
    if path is None:
        pytest.skip("`make .make/speech` installs the recogniser and a recording")
    cut_path = tmp_path / "reading.wav"
    with wave.open(str(path)) as whole, wave.open(str(cut_path), "wb") as cut:
        cut.setparams(whole.getparams())
        cut.writeframes(whole.readframes(SECONDS * whole.getframerate()))
    return cut_path


@pytest.fixture
def recogniser(recording: Path, tmp_path: Path) -> Iterator[str]:
    """Address of the recogniser's server."""
    port = find_free_port()
    command = [str(PYTHON), str(Path(__file__).with_name("serve_sphinx.py")), str(port)]
    url = f"http://127.0.0.1:{port}/v1"
    with running(command, url, tmp_path / "server.log"):
        yield url


def test_what_a_person_says_in_a_recording_finds_it(recording: Path, recogniser: str) -> None:
    """The transcript is the recogniser's, beside the user's note."""
    with temp_engine(
        speech__model="sphinx", speech__url=recogniser, speech__seconds=300.0
    ) as engine:
        report = engine.add_document(recording, scope=ANN, note="Grandfather reads.")
        assert report.undescribed == []
        _, transcript = engine.documents.read("reading.wav", ANN)
        location = read_location(transcript)
        assert location is not None
        assert location.label == "reading.wav, Transcribed by sphinx"
        assert "it was the best of times it was the worst of times" in transcript.text
        hits = engine.search("the best of times and the worst of times", scope=ANN).hits
        assert hits[0].record.id == transcript.id
