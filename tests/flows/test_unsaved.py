"""A message that asks not to be saved leaves no byte in the home, through every door;
the rest of its conversation is kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from tests.program.test_serve import served
from tests.surfaces.mcp.conftest import call

import engrams
from engrams import Turn
from engrams.extract.memory_requests import forbids_storage
from engrams.testing import ScriptedModel

ANN = ("user", "ann")
SECRET = "zanzibarquokka"
HUSH = f"Don't save this: my locker's code is {SECRET}."
ECHO = f"Understood, I keep {SECRET} to myself."
LIVES = "I live in Porto and work at the harbour."
RUN = [sys.executable, "-m", "engrams.program.entry"]
FILES = ("vault__enabled", "vault__git", "summary__enabled", "usage__gaps")
SET = [word for name in FILES for word in ("--set", f"{name.replace('__', '.')}=true")]


def traces(home: Path) -> Iterator[str]:
    """Files of the home, packed git objects included, with a piece of the secret."""
    for file in (one for one in home.rglob("*") if one.is_file()):
        raw = file.read_bytes()
        if ".git" in file.parts and "objects" in file.parts and raw[:1] == b"x":
            raw += zlib.decompress(raw)
        if any(piece in raw.lower() for piece in (b"zanzibar", b"quokka")):
            yield str(file.relative_to(home))


def kept(home: Path) -> str:
    """Everything that is remembered of this person."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        return " ".join(
            record.text for record in engine.list(scope=ANN, statuses=(), limit=500).records
        )


def run(home: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *words, "--home", str(home), "--user", "ann"],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "text",
    [
        "My PIN is 4711. Please don't remember this.", "Off the record: I am looking for a job.", "I'm pregnant, but keep this between us.",
        "My boss told me I'm getting fired, don't save this.", "Please do not store that I have diabetes.",
        "Could you not save this? I earn 90k.",
        "Bitte nicht speichern: Meine PIN ist 4711.", "Meine PIN ist 4711. Speicher das bitte nicht.", "Das bleibt unter uns: Ich kündige.",
        "No guardes esto: mi PIN es 4711.", "Que quede entre nosotros: voy a renunciar.",
        "N'enregistre pas ça : mon code est 4711.", "Mon code est 4711, ça reste entre nous.",
        "Hiervon darf nichts notiert werden.", "No anotes nada de lo que te conté.", "Ne laisse aucune trace de cela.",
        "No, don't keep it.", "Nein, merk dir das nicht.", "Leg keine Notiz davon an.",
        "以上内容请勿保存。", "今の話はメモしないで。",
        "Ça reste entre toi et moi : je démissionne.", "Das bleibt zwischen dir und mir.", "二人だけの秘密です。",
        "Keep this conversation out of your memory.", "Leave what I say out of your notes.",
        "Halte dieses Gespräch aus deinem Gedächtnis heraus.",
        "Mantén esta conversación fuera de tu memoria.", "Garde cette conversation hors de ta mémoire.",
        "Nothing I say here should be stored.", "No part of this chat should be saved.", "Nada de lo que digo aquí debe guardarse.",
        "S'il te plaît, n'enregistre pas cette conversation.", "Mon code est 4711, alors ne note rien.",
        "I'd rather you didn't save that I'm in debt.", "You mustn't save what I tell you now.", "Strictly between us: I voted for him.",
        "Das muss unter uns bleiben: ich kündige.", "Nur unter uns: ich bin pleite.", "Schreib das bitte nirgends auf: ich trinke wieder.",
        "Solo entre tú y yo, me voy de casa.", "Strictement entre nous : je suis malade.", "N'écris ça nulle part, je suis ruiné.",
        "这事只有你我知道，我要辞职了。", "我不希望你记住这个。", "これは絶対に保存しないで。", "ここだけの話にして。実は病気なんです。",
        "不要保存：我的密码是4711。", "这是我们之间的秘密：我要辞职。", "保存しないでください：暗証番号は4711です。", "ここだけの話です。",
        "Merk dir bitte nicht, dass ich heute krank war.", "Merken Sie sich auf keinen Fall, dass mein Sohn trinkt.",
        "Notier bitte nicht, dass wir umziehen.", "Bitte merk dir das mit dem Streit nicht.",
        "No recuerdes que estuve enferma.", "Por favor, no anotes que fumo.", "No te acuerdes de que lloré.",
        "Ne retiens pas que j'étais malade.", "S'il te plaît, ne note pas que mon fils fume.",
        "请不要记住我今天生病了。", "别记我欠钱的事。",
        "I'd rather you didn't note that I was in rehab.", "There's no need to store that I failed the exam.",
        "Please avoid remembering what I said about my boss.", "The thing about my divorce, better not remember it.",
        "Du musst dir nicht merken, dass ich Schulden habe.", "Das mit der Kündigung solltest du dir lieber nicht merken.",
        "Die Sache mit Jonas speicher bitte nicht.", "Ich möchte lieber nicht, dass du dir das mit Jonas merkst.",
        "Notiere bitte nie, dass ich rauche.", "Ne te rappelle pas que j'ai divorcé.", "Inutile de retenir que ma mère boit.",
        "Je préfère que tu ne notes pas que je fume.", "Prefiero que no guardes lo de mi divorcio.",
        "No hace falta que recuerdes que fumo.", "Nunca anotes que tomo pastillas.",
        "我住院的事你就别记了。", "你不用记住我离婚了。", "離婚の話は覚えておかなくて大丈夫。",
        # Opinions open so, too; what may be a wish is one.
        "Between you and me, I never liked the Ghent office.", "Unter uns gesagt, mein Chef ist überfordert.",
        "Entre nous, je préfère le thé au café.", "Entre nosotros, no me gusta el fútbol.", "ここだけの話だけど、うちの猫は太っている。",
    ],
)  # fmt: skip
def test_a_request_not_to_be_saved_is_understood(text: str) -> None:
    """In six languages, before or after what it is about."""
    assert forbids_storage(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nothing of note here. The boiler code is 4711.",
        "Please do not log me out, I need the page open for my father's chart.",
        "Don't store that there, my toddler Mia climbs.",
        "Don't keep it, give the bike to my nephew Arne.",
        "Do not record this show for me, I cancelled cable.",
        "Save nothing for me, I ate in the canteen.",
        "My boss said don't save this file.", 'He told me "don\'t save this" and left.', "Don't save this file to the desktop.",
        "I don't remember that film.", "He told me off the record that the deal is dead.", "She asked me to keep it between us.",
        "Why don't you save this?", "Don't forget this: my train leaves at 9.", "The sign reads: do not record this.",
        "Ich kann das nicht speichern.", "Mein Chef sagte, nicht speichern.", "No guardes el archivo.", "Il ne garde pas ça.",
        "I don't want this saved game to be lost.", "Das Auto soll nicht gehalten werden.", "Ne laisse aucune trace de pas sur le sol.",
        "那件事我没记住。",
        "Mon frère ne garde rien.", "Paul n'enregistre pas ça.", "Cette application ne garde rien en mémoire.", "Marie ne note rien.",
        "Nothing I say is stored.", "Nothing I say here is true.", "Keep that out of the history books.",
        "L'appartement reste entre mes soeurs et moi.",
        "Don't write that down as overtime, I volunteered for it.",
        "Don't store it in the fridge, my tomatoes lose their taste.",
        "Schreib das nicht ab, mein Fahrrad ist noch gut.",
        "Speicher das nicht auf dem Desktop, ich arbeite in der Cloud.",
        "資料をデスクトップに保存しないで、私はクラウド派です。", "牛乳を外で保存しないで。",
        "No, keep it.", "Nope, remember this.", "Nein, behalte es.", "Don't save this one for me.", "Behalt das nicht an.",
        "Ne garde pas ça sur toi.", "No guardes esto para luego.",
        "Merk dir, dass ich keine Nüsse esse.", "Merk dir bitte, dass ich nicht fliege.", "Merken Sie nicht, dass es regnet?",
        "Ich merke nicht, dass ich müde bin.", "Merk dir nicht nur, dass ich komme.", "Vergiss nicht, dass ich krank war.",
        "¿No recuerdas que vivo en Vigo?", "No olvides que fumo.", "N'oublie pas que je suis malade.", "Ne note pas que le bleu.",
        "Il ne retient pas que nous venons.", "不要忘记我今天生病了。", "别记我账上。", "不要记错我的名字。",
        "I'd prefer you not call me Bob.", "You don't need to be so formal.", "There's no need to save the file.",
        "The thing about my divorce surprised them.", "Behalt ihn nicht auf.", "Das mit dem Krankenhaus merke ich nicht.",
        "Du musst nicht warten, dass ich komme.",
        "Prefiero que no guardes eso en la nevera.", "Nunca guardes lo que sobra.", "Inutile de garder ça dans le frigo.",
        "我的药的事你别记错。", "会議の話は覚えていない。",
        "不要保存这个文件。", "老板说不要保存。", "ファイルを保存しないで。", "「保存しないで」と言われた。",
    ],
)  # fmt: skip
def test_ordinary_talk_about_saving_is_kept(text: str) -> None:
    """Files, other people's words and what is denied or quoted are no such request."""
    assert not forbids_storage(text)


@pytest.mark.parametrize(
    ("question", "answer", "status"),
    [
        ("Should I save a slice of cake for you?", "Don't save it", "active"),
        ("Soll ich dir das Brot aufheben?", "Behalt es nicht.", "active"),
        ("Should I remember that?", "Don't save it", "forgotten"),
    ],
)
def test_an_answer_is_about_what_was_asked(
    home: Path, question: str, answer: str, status: str
) -> None:
    """What was said before goes only if the assistant asked about memory."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        said = engine.add(Turn("My notary keeps the will in Delft.", session="s"), scope=ANN)
        engine.add(Turn(question, role="assistant", session="s"), scope=ANN)
        engine.add(Turn(answer, session="s"), scope=ANN)
        assert engine.get(said.id, scope=ANN).status.value == status


@pytest.mark.parametrize(
    "text", ["Olvidé decirte que vivo en Lugo.", "忘了告诉你我搬到厦门了", "忘了说,我儿子叫乐乐"]
)
def test_what_is_told_late_is_no_request_to_forget(home: Path, text: str) -> None:
    """The words "I forgot to tell you" begin a statement: a search finds it by its words."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        receipt = engine.add(Turn(text, session="s"), scope=ANN)
        engine.drain(10)
        assert not any(decision.reason == "control" for decision in receipt.decisions)
        assert [hit.record.text for hit in engine.search(text, scope=ANN).hits] == [text]


def test_the_engine_keeps_the_rest(home: Path) -> None:
    """Observe and add:
    neither the message nor its answer is stored, prompted or learned from; the receipt says so
    without its words.
    """
    with (
        ScriptedModel() as model,
        engrams.open(
            home=str(home),
            chat__provider="openai",
            chat__url=model.url,
            chat__model="m",
            **dict.fromkeys(FILES, True),
        ) as engine,
    ):
        receipts = engine.observe(
            [
                Turn(HUSH, session="s"),
                Turn(ECHO, "assistant", session="s"),
                Turn(LIVES, session="s"),
            ],
            scope=ANN,
        )
        assert [one.outcome for one in receipts] == ["unsaved", "unsaved", "stored"]
        assert SECRET not in repr(receipts)
        assert (
            engine.add(HUSH, scope=ANN).outcome
            == engine.updates.add(Turn(HUSH, session="s"), scope=ANN)[0].outcome
            == "unsaved"
        )
        assert (
            engine.observe(Turn(ECHO, "assistant", session="s"), scope=ANN)[0].outcome == "unsaved"
        )
        engine.context(HUSH, scope=ANN, session="s")
        messages = [
            {"id": str(n), "role": "user", "content": text}
            for n, text in enumerate([HUSH, LIVES * 9, LIVES * 8])
        ]
        engine.summaries.fit(messages, scope=ANN, session="s", max_tokens=60, tokens=20)
        engine.sessions.end("s", scope=ANN)
        engine.drain()
        assert engine.vault is not None
        engine.vault.commit("all")
        assert "Porto" in str([request.text for request in model.requests])
        assert SECRET not in str([request.text for request in model.requests])
        assert not list(traces(home))
    assert not list(traces(home))
    assert "Porto" in kept(home)


@pytest.mark.slow
def test_the_command_line_and_an_import(home: Path, tmp_path: Path) -> None:
    """`add` ends well and says that the message was not saved;
    an import keeps the messages around it.
    """
    added = run(home, "add", HUSH, *SET)
    assert (added.returncode, SECRET in added.stdout + added.stderr) == (0, False)
    assert "unsaved" in added.stdout
    assert json.loads(run(home, "add", HUSH, "--json", *SET).stdout)["outcome"] == "unsaved"
    file = tmp_path / "talk.jsonl"
    said = [("user", HUSH), ("assistant", ECHO), ("user", LIVES)]
    file.write_text(
        "\n".join(
            json.dumps({"role": role, "content": text, "session": "s"}) for role, text in said
        )
    )
    assert run(home, "import", str(file), *SET).returncode == 0
    assert not list(traces(home))
    assert "Porto" in kept(home)


@pytest.mark.slow
def test_a_hook(home: Path, tmp_path: Path) -> None:
    """The prompt is not kept, and at the end of the turn neither it nor its answer is taken from
    the transcript.
    """
    lines = [
        {"type": role, "message": {"role": role, "content": text}}
        for role, text in [("user", HUSH), ("assistant", ECHO), ("user", LIVES)]
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": HUSH},
        {"hook_event_name": "Stop", "transcript_path": str(tmp_path / "t.jsonl")},
    ):
        assert (
            run(
                home,
                "hook",
                "--seconds",
                "50",
                *SET,
                stdin=json.dumps({**event, "session_id": "s"}),
            ).returncode
            == 0
        )
    assert not list(traces(home))
    assert "Porto" in kept(home)


async def test_an_assistant_with_tools(home: Path) -> None:
    """The tool's result says that it was not saved."""
    arguments = [*RUN[1:], "mcp", "--home", str(home), "--user", "ann"]
    async with Client(
        StdioServerParameters(command=RUN[0], args=arguments), read_timeout_seconds=60
    ) as memory:
        done = await call(memory, "memory_add", text=HUSH)
        await call(memory, "memory_add", text=LIVES)
    assert done["results"][0]["outcome"] == "unsaved"
    assert SECRET not in str(done)
    assert not list(traces(home))
    assert "Porto" in kept(home)


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_server(home: Path, stream: bool) -> None:
    """Proxy and REST API:
    upstream gets the message once; nothing of it stays in the home or in another prompt.
    """
    with ScriptedModel(answer=lambda request: ECHO if HUSH in request.text else "Noted.") as model:
        chat = (
            "--set",
            "chat.provider=openai",
            "--set",
            f"chat.url={model.url}",
            "--set",
            "chat.model=m",
            "--set",
            "write.debounce_seconds=0",
        )
        with (
            served(
                home, "--user", "ann", "--set", f"serve.upstream={model.url}/v1", *chat, *SET
            ) as url,
            httpx2.Client(timeout=30) as client,
        ):
            for text in (HUSH, LIVES):
                body = {
                    "model": "m",
                    "stream": stream,
                    "messages": [{"role": "user", "content": text}],
                }
                assert client.post(url + "/v1/chat/completions", json=body).status_code == 200
            assert (
                client.post(url + "/v1/memories", json={"text": HUSH}).json()["results"][0][
                    "outcome"
                ]
                == "unsaved"
            )
            told = client.post(
                url + "/v1/memories",
                json={"messages": [{"role": "user", "content": text} for text in (HUSH, LIVES)]},
            )
            assert [one["outcome"] for one in told.json()["results"]] == ["unsaved", "stored"]
            assert SECRET not in told.text
            assert not list(traces(home))
        assert sum(SECRET in request.text for request in model.requests) == 1
    assert not list(traces(home))
    assert "Porto" in kept(home)
