"""Attachments of a mail: read below its name, each passage with the name of the file."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from bench.documents import making

from engrams.core.document_location import read_location
from engrams.testing import temp_engine

ANN = ("user", "ann")


def make_mail(subject: str, files: dict[str, bytes]) -> bytes:
    """A mail with files."""
    message = EmailMessage()
    message["From"] = "Per <per@ror.example>"
    message["To"] = "Ann <ann@x.example>"
    message["Date"] = "Tue, 03 Mar 2026 09:15:00 +0100"
    message["Subject"] = subject
    message.set_content("The papers are attached.")
    for name, data in files.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


FILES = {
    "lease.pdf": making.make_pdf([["One cat is allowed in the flat."]]),
    "plan.docx": making.make_docx([(1, "Roof"), "The tiles are of slate."]),
    "notes.txt": b"The gate code is on the fridge.",
    "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(90),
    "broken.docx": making.make_docx(["Words of nobody."])[:300],
    "inner.eml": making.make_mail(
        "a@b.example", "c@d.example", "Inner", "Tue, 03 Mar 2026 09:15:00 +0100", ["Inner words."]
    ),
}


@pytest.mark.parametrize("is_mailbox", [False, True])
def test_an_attachment_is_found_with_its_name(tmp_path: Path, is_mailbox: bool) -> None:
    """What can be read is found below the mail; what cannot is named, and costs nothing else."""
    mail = make_mail("The papers", FILES)
    other = make_mail("The boat", {"boat.txt": b"The boat is white."})
    path = tmp_path / ("box.mbox" if is_mailbox else "papers.eml")
    line = b"From per Tue Mar 03 09:15:00 2026\n"
    path.write_bytes(line + mail + b"\n" + line + other if is_mailbox else mail)
    with temp_engine() as engine:
        assert engine.add_document(path, scope=ANN).bad == []
        for query, heading in {
            "is a cat allowed in the flat?": "lease.pdf",
            "what are the tiles of?": "plan.docx › Roof",
            "where is the gate code?": "notes.txt",
        }.items():
            location = read_location(engine.search(query, scope=ANN).hits[0].record)
            assert location is not None
            above = "The papers › " if is_mailbox else ""
            assert (location.name, location.heading) == (path.name, f"{above}{heading}")
        text = "\n".join(record.text for record in engine.documents.read(path.name, ANN))
        assert (
            "Attached: lease.pdf, plan.docx, notes.txt, photo.png, broken.docx, inner.eml" in text
        )
        assert "nobody" not in text and "Inner words" not in text
