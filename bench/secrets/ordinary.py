"""Ordinary technical messages that hold no secret, made of sentences with changing parts."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

_SENTENCES = """
The build of {commit} failed after {n} minutes.
Please bump {package} to {version} in requirements.txt.
My password is expired, where do I reset it?
The token is missing from the request header.
The password field must have at least {n} characters.
Where do I store the API key of the weather service?
Commit {sha} broke the parser.
sha256:{hash} is the digest of the image.
The request id is {uuid}.
Set DB_PASSWORD=$DB_PASSWORD in the compose file.
Use os.environ["API_KEY"] instead of a literal.
password: str = Field(min_length={n})
def check(token: str) -> bool: return token in self._tokens
The secret to good bread is time.
We key the cache by user id {n}.
The primary key is id, the foreign key is order_{n}.
Open https://docs.example.com/v{n}/auth?tab=tokens#keys and read it.
mysql -u root -p ledger asks for a password.
docker login registry.example.com -u ci --password-stdin
psql -h db-{n}.internal -U app shop
curl -s https://api.example.com/items/{n} | jq .
ssh -p {port} deploy@host-{n}
git checkout -b fix/token-refresh-{n}
pip install -p {version} works differently.
The port is {port}, the host is 10.0.0.{byte}.
Version {version} of the API returns 401 without a token.
The ticket is ABC-{n}, the order number is {order}.
Error code {n} means that the key is not found.
Room {n}, code review at {hour}:30.
The zip code is {zip}, the area code is {n}.
export PATH=/usr/local/bin:$PATH
const key = `user:${{id}}`;
"lockfileVersion": {n}, "integrity": "sha512-{integrity}=="
The session lasts {n} minutes, then the cookie is deleted.
Call +49 30 {zip}{n} after {hour}.
class PasswordHasher: uses bcrypt with {n} rounds.
The password is wrong, says the log.
Passwords are hashed with argon2 here.
the passphrase is optional
API_KEY=<your key>
api_key: "${{API_KEY}}"
secretKeyRef: name: app-secrets, key: token
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
--token $GITHUB_TOKEN
"token_count": {n}, "max_tokens": {port}
tokens per second: {n}
The access token expires in {n} seconds.
I forgot my password again.
The PIN is the {n}th of the connector.
Connect pin {n} to ground.
The keyboard key F{byte} does not work.
Our secret sauce is caching.
The client key is generated on the server.
Rotate the signing key every {n} days.
see {path}/secrets/{package}.md
Test user password123 is not used any more, delete the account page.
MD5 {md5} of the file matches.
uuid {uuid} was seen twice.
ID {objectid} in the collection.
trace {trace} span {span}
arn:aws:iam::{account}:role/deploy
s3://bucket-{n}/backups/{hour}.tar.gz
The wifi is slow, change the password?
Der Schlüssel liegt unter der Matte Nummer {n}.
Das Passwort ist falsch, sagt das Log.
Le mot de passe est trop court.
La contraseña es incorrecta.
密码是错误的。
パスワードは間違っています。
She keeps the recovery phrase in a safe.
The mnemonic helps me to remember the planets.
He walked about above able abstract art yesterday and then across the acid lake to act again.
I sold {n} BTC in May.
The IBAN field rejects DE00 {n}.
Card ending in {n} was declined.
""".strip().splitlines()


def make_messages(count: int = 2000, seed: int = 7) -> Iterator[str]:
    """Make ordinary messages of one or two sentences; the same seed makes the same."""
    draw = random.Random(seed)
    for _ in range(count):
        size = 1 + (draw.random() < 0.3)
        yield " ".join(
            sentence.format(**_draw_parts(draw)) for sentence in draw.sample(_SENTENCES, size)
        )


def _draw_parts(draw: random.Random) -> dict[str, object]:
    def digits(size: int, alphabet: str = "0123456789abcdef") -> str:
        return "".join(draw.choices(alphabet, k=size))

    return {
        "n": draw.randint(2, 999),
        "port": draw.randint(1024, 65535),
        "byte": draw.randint(1, 12),
        "hour": draw.randint(1, 23),
        "zip": digits(5, "123456789"),
        "order": digits(10, "0123456789"),
        "account": digits(12, "0123456789"),
        "version": f"{draw.randint(0, 9)}.{draw.randint(0, 30)}.{draw.randint(0, 9)}",
        "commit": digits(7),
        "sha": digits(40),
        "hash": digits(64),
        "md5": digits(32),
        "objectid": digits(24),
        "trace": digits(32),
        "span": digits(16),
        "integrity": digits(86, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
        "uuid": uuid.UUID(int=draw.getrandbits(128), version=4),
        "package": draw.choice(("httpx", "numpy", "left-pad", "serde", "react-dom")),
        "path": draw.choice(("src/app", "docs", "/srv/www", "lib")),
    }
