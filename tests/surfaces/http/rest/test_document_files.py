"""Files of pictures and sounds over REST: served so that no browser takes one for a page."""

from __future__ import annotations

import httpx2
import pytest
from tests.surfaces.http.rest.conftest import Person
from tests.surfaces.http.rest.test_quarantine import problem
from tests.transfer.documents import media_files


def test_the_file_of_a_sound_is_a_download(api: httpx2.Client, person: Person) -> None:
    """Its name may be anything; another owner does not find it, and a text has no file."""
    sound = media_files.make_wav()
    name = 'a"\r\nx: <é>.wav'
    (row,) = api.post("/documents", files={"file": (name, sound)}).json()["documents"]
    assert "speech.model" in row["undescribed"]
    answer = api.get(f"/documents/{row['id']}/file")
    assert (answer.content, answer.headers["content-type"]) == (sound, "audio/wav")
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''a%")
    assert "<" not in disposition
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    problem(api.get(f"/documents/{row['id']}/file", params={"small": "true"}), 404)
    problem(person().get(f"/documents/{row['id']}/file"), 404)
    described = api.post(f"/documents/{row['id']}/describe").json()
    assert (described["outcome"], "speech.model" in described["problem"]) == ("failed", True)
    (text,) = api.post("/documents", files={"file": ("a.md", b"# Bees")}).json()["documents"]
    problem(api.get(f"/documents/{text['id']}/file"), 404)


def test_the_small_copy_of_a_picture_has_no_metadata(api: httpx2.Client) -> None:
    """What a page shows was made anew: nothing else that the file holds is in it."""
    pytest.importorskip("PIL", reason="pictures need Pillow")
    picture = media_files.make_picture("JPEG", (2000, 1000), comment=b"quux")
    (row,) = api.post("/documents", files={"file": ("a.jpg", picture)}).json()["documents"]
    small = api.get(f"/documents/{row['id']}/file", params={"small": "true"})
    assert (small.headers["content-type"], b"quux" in small.content) == ("image/jpeg", False)
    assert small.headers["content-disposition"].startswith("inline")
    assert api.get(f"/documents/{row['id']}/file").content == picture
    (listed,) = api.get("/documents").json()["documents"]
    assert listed["media"] == "image/jpeg"
