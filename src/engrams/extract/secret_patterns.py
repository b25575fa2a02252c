"""Patterns of ``secrets``: family, required literals, pattern.

One of the literals must occur; the group ``v`` is the secret.
"""

from __future__ import annotations

import re

from engrams.text.vocabulary import read_classes, read_rows, read_vocabulary, word_set

_W = r"(?<![\w-])"
_E = r"(?![\w])"

# Families with a fixed prefix.
RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws-access-key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        rf"{_W}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16,24}}{_E}",
    ),
    (
        "aws-secret-key",
        ("aws", "AWS"),
        (
            r"(?i:aws_?(?:secret)?_?(?:access)?_?key)['\"]?\s{0,4}[:=]{1,2}\s{0,4}['\"]?(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
    ),
    (
        "aws-secret-key",
        ("AKIA", "ASIA", "aws", "AWS"),
        (r"(?i:secret)[^\n]{0,24}?(?<![A-Za-z0-9/+=])(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    ),
    ("aws-session", ("FwoG", "IQoJ"), rf"{_W}(?:FwoG|IQoJ)[A-Za-z0-9/+=]{{80,2000}}+"),
    ("amazon-mws", ("amzn.mws.",), r"amzn\.mws\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    ("gcp-api-key", ("AIza",), rf"{_W}AIza[\w-]{{35}}{_E}"),
    ("gcp-oauth", ("ya29.",), r"\bya29\.[\w-]{20,2000}+"),
    ("gcp-client-secret", ("GOCSPX-",), r"GOCSPX-[\w-]{28}"),
    ("azure-storage", ("AccountKey=",), r"AccountKey=(?P<v>[A-Za-z0-9+/]{80,90}={0,2})"),
    ("azure-client-secret", ("Q~",), rf"{_W}[\w.~-]{{3}}[0-9]Q~[\w.~-]{{31,34}}{_E}"),
    ("azure-sas", ("sig=",), r"(?<!\w)sig=(?P<v>[A-Za-z0-9%/+]{43,120}+)"),
    ("azure-devops", ("AZDO",), r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        rf"{_W}gh[pousr]_[A-Za-z0-9]{{36,255}}+",
    ),
    ("github-pat", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,255}+"),
    (
        "gitlab-token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-"),
        r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w.-]{20,300}+",
    ),
    (
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxs-", "xoxr-", "xoxe"),
        r"\bxox[abeprs][.-][\w-]{10,250}+",
    ),
    ("slack-app-token", ("xapp-",), r"\bxapp-\d-[\w-]{10,250}+"),
    (
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com[/_](?:services|workflows|triggers)[/_][\w/]{20,120}+",
    ),
    (
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
        r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+",
    ),
    ("stripe-webhook", ("whsec_",), r"\bwhsec_[A-Za-z0-9+/=]{24,100}+"),
    ("anthropic-key", ("sk-ant-",), r"\bsk-ant-[\w-]{20,250}+"),
    (
        "openai-key",
        ("sk-",),
        (
            r"(?<![\w-])sk-(?:proj-|svcacct-|admin-|None-|or-v1-)?(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Za-z])[\w]{20,200}[\w-]{0,100}+"
        ),
    ),
    ("openai-key", ("T3BlbkFJ",), r"\bsk-[\w-]{10,150}T3BlbkFJ[\w-]{10,150}+"),
    (
        "huggingface-token",
        ("hf_", "api_org_"),
        (
            rf"{_W}(?:hf_|api_org_)[A-Za-z]{{34}}{_E}|{_W}hf_(?=[A-Za-z0-9]{{0,60}}\d)[A-Za-z0-9]{{30,60}}{_E}"
        ),
    ),
    ("groq-key", ("gsk_",), rf"{_W}gsk_[A-Za-z0-9]{{40,80}}{_E}"),
    ("xai-key", ("xai-",), rf"{_W}xai-[A-Za-z0-9]{{60,120}}{_E}"),
    ("replicate-token", ("r8_",), rf"{_W}r8_[A-Za-z0-9]{{37}}{_E}"),
    ("perplexity-key", ("pplx-",), rf"{_W}pplx-[A-Za-z0-9]{{32,64}}{_E}"),
    ("npm-token", ("npm_",), rf"{_W}npm_[A-Za-z0-9]{{36}}{_E}"),
    ("pypi-token", ("pypi-AgE",), r"pypi-AgE[\w-]{50,500}+"),
    ("rubygems-key", ("rubygems_",), r"rubygems_[0-9a-f]{48}"),
    ("docker-token", ("dckr_pat_", "dckr_oat_"), r"dckr_[po]at_[\w-]{20,80}+"),
    ("twilio-key", ("SK", "AC"), rf"{_W}(?:SK|AC)[0-9a-f]{{32}}{_E}"),
    ("sendgrid-key", ("SG.",), rf"{_W}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}+"),
    ("mailgun-key", ("key-",), rf"{_W}key-[0-9a-f]{{32}}{_E}"),
    ("mailchimp-key", ("-us",), rf"{_W}[0-9a-f]{{32}}-us[0-9]{{1,2}}{_E}"),
    ("jwt", ("eyJ",), r"(?<![\w.-])eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,8000}+\.[\w-]{8,2000}+"),
    (
        "private-key",
        ("PRIVATE KEY",),
        (
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END)[\s\S]){0,20000}+(?:-----END "
            r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
    ),
    ("putty-key", ("PuTTY-User-Key-File",), r"PuTTY-User-Key-File-\d[\s\S]{20,8000}"),
    ("age-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    (
        "url-password",
        ("://",),
        (
            r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://(?P<user>[^\s/:@'\"<>]{0,100}+):(?P<v>(?!(?P=user)@(?:localhost|127\.))(?!\$|\{|<|\*|%[({]|(?:password|pass|pwd"
            r"|passwd)@)[^\s/@'\"<>]{3,200}+)@(?=[\w\[])"
        ),
    ),
    (
        "odbc-password",
        ("Server=", "server=", "Data Source=", "Host=", "host=", "Driver="),
        (r"(?i:(?:^|[;\s\"'])(?:password|pwd))=(?P<v>(?![{$<*])[^;\s\"']{3,200}+)(?=[;\s\"']|$)"),
    ),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"\bdo[por]_v1_[0-9a-f]{64}"),
    (
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    (
        "square-token",
        ("sq0atp-", "sq0csp-", "EAAA"),
        rf"{_W}(?:sq0(?:atp|csp)-[\w-]{{22,43}}|EAAA[\w-]{{60}}){_E}",
    ),
    (
        "braintree-token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    ("telegram-token", (":AA",), rf"{_W}[0-9]{{8,10}}:AA[\w-]{{32,34}}{_E}"),
    ("discord-token", (".",), rf"{_W}[MNO][A-Za-z0-9]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,40}}{_E}"),
    (
        "discord-webhook",
        ("api/webhooks/", "api_webhooks_"),
        r"discord(?:app)?\.com[/_]api[/_]webhooks[/_]\d{17,20}[/_][\w-]{60,80}+",
    ),
    ("databricks-token", ("dapi",), rf"{_W}dapi[0-9a-f]{{32}}(?:-\d)?{_E}"),
    ("newrelic-key", ("NRAK-", "NRJS-"), r"\bNR(?:AK-[A-Z0-9]{27}|JS-[0-9a-f]{19})"),
    (
        "grafana-token",
        ("glsa_", "glc_"),
        r"\b(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2})",
    ),
    ("sentry-token", ("sntrys_", "sntryu_"), r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,300}+"),
    ("linear-key", ("lin_api_", "lin_oauth_"), r"\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    (
        "notion-token",
        ("ntn_", "secret_"),
        rf"{_W}(?:ntn_[A-Za-z0-9]{{40,50}}|secret_[A-Za-z0-9]{{43}}){_E}",
    ),
    ("airtable-token", ("pat",), rf"{_W}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_E}"),
    (
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."),
        r"\bdp\.(?:pt|st|ct|sa)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    ("vault-token", ("hvs.", "hvb."), rf"{_W}hv[sb]\.[\w-]{{24,300}}+"),
    ("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}"),
    ("heroku-key", ("HRKU-",), r"\bHRKU-[\w-]{36,64}"),
    ("postman-key", ("PMAK-",), r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("dropbox-token", ("sl.",), rf"{_W}sl\.(?:u\.)?[\w-]{{130,1500}}+"),
    ("facebook-token", ("EAA",), rf"{_W}EAA[A-Z][A-Za-z0-9]{{100,300}}+"),
    (
        "supabase-token",
        ("sbp_", "sb_secret_"),
        rf"{_W}(?:sbp_[0-9a-f]{{40}}|sb_secret_[\w-]{{20,60}}){_E}",
    ),
    ("planetscale-token", ("pscale_",), r"\bpscale_(?:tkn|pw|oauth)_[\w.-]{32,64}"),
    ("pulumi-token", ("pul-",), rf"{_W}pul-[0-9a-f]{{40}}{_E}"),
    ("fly-token", ("fm2_", "fo1_"), r"\b(?:fm2_[A-Za-z0-9+/]{80,2000}={0,3}|fo1_[\w-]{43})"),
    ("atlassian-token", ("ATATT3", "ATCTT3"), r"\bAT[AC]TT3[\w=-]{60,400}+"),
    ("figma-token", ("figd_",), r"\bfigd_[\w-]{38,60}"),
    ("cloudflare-key", ("v1.0-",), r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    (
        "hubspot-token",
        ("pat-",),
        rf"{_W}pat-(?:na|eu|ap)\d-[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}",
    ),
    (
        "private-key",
        ("b3BlbnNzaC1rZXktdjE", "MIIEvQIBADANBg", "MIIEowIBAAK", "MIIEpAIBAAK", "MC4CAQAwBQYDK2Vw"),
        (
            r"(?:b3BlbnNzaC1rZXktdjE|MIIEvQIBADANBg|MIIEowIBAAK|MIIEpAIBAAK|MC4CAQAwBQYDK2Vw)"
            r"[A-Za-z0-9+/=]{20,8000}+(?:\s[A-Za-z0-9+/=]{40,80}+){0,100}+"
        ),
    ),
    (
        "putty-key",
        ("Private-Lines",),
        r"Private-Lines:? ?\d{0,3}\s(?P<v>[A-Za-z0-9+/=\s]{40,8000}+)",
    ),
    ("laravel-key", ("base64:",), r"(?<![\w,])base64:(?P<v>[A-Za-z0-9+/]{43}=)"),
    (
        "url-password",
        ("@",),
        (
            r"(?<![\w.+/:-])[\w.-]{2,40}:(?P<v>(?=[^\s@:/]{0,60}\d)(?=[^\s@:/]{0,60}[A-Za-z])[^\s@:/'\"<>]{8,80}+)"
            r"@(?!sha256)(?=[A-Za-z]|\d{1,3}\.\d)"
        ),
    ),
    (
        "curl-user",
        ("curl",),
        r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)\s+['\"]?[^\s:'\"$]{1,80}:(?P<v>(?![$<{])[^\s'\"]{3,120})",
    ),
    ("tailscale-key", ("tskey-",), r"\btskey-[a-z]{2,12}-[\w-]{10,80}+"),
    ("engrams-key", ("engrams_",), rf"{_W}engrams_[\w-]{{43}}{_E}"),
    ("langsmith-key", ("lsv2_",), r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("posthog-key", ("phx_",), rf"{_W}phx_[A-Za-z0-9]{{40,60}}{_E}"),
    ("resend-key", ("re_",), rf"{_W}re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,30}}{_E}"),
    ("brevo-key", ("xkeysib-", "xsmtpsib-"), r"\bx(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("dynatrace-token", ("dt0",), r"\bdt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("pinecone-key", ("pcsk_",), rf"{_W}pcsk_[A-Za-z0-9]{{4,8}}_[A-Za-z0-9]{{40,80}}{_E}"),
    ("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"\bCCIP(?:AT|RJ)_[A-Za-z0-9]{15,30}_[0-9a-f]{40}"),
    ("buildkite-token", ("bkua_",), rf"{_W}bkua_[0-9a-f]{{40}}{_E}"),
    ("netlify-token", ("nfp_",), rf"{_W}nfp_[A-Za-z0-9]{{36}}{_E}"),
    (
        "password-hash",
        ("$apr1$", "$6$", "$5$", "$1$", "$2y$", "$2a$", "$2b$", "$argon2", "$y$"),
        (
            r"\$(?:apr1|1|5|6|y)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{2,30}\$[./A-Za-z0-9]{20,90}+"
            r"|\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$argon2(?:id|i|d)\$[\w=$,./+]{30,200}+"
        ),
    ),
    ("password-hash", ("{SHA}", "{SSHA}"), r"\{S?SHA\}(?P<v>[A-Za-z0-9+/]{20,60}+={0,2})"),
    ("wallet-key", ("xprv", "yprv", "zprv"), r"\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{90,115}+"),
    (
        "command-password",
        ("smbclient", "net use", "rpcclient"),
        r"\b(?:smbclient|rpcclient)\b[^\n|;&`]{0,120}?\s-U\s*[^\s%]{1,60}%(?P<v>[^\s'\"`]{3,120})",
    ),
    (
        "command-password",
        ("sudo -S", "sudo --stdin"),
        (
            r"\becho\s+(?:-n\s+)?['\"]?(?P<v>(?![$<])[^\s'\"|]{3,120})['\"]?\s*\|\s*sudo\s+(?:-S|--stdin)"
        ),
    ),
    (
        "command-password",
        ("sudo -S",),
        r"\bsudo\s+-S\b[^\n|]{0,80}<<<\s*['\"]?(?P<v>(?![$<])[^\s'\"]{3,120})",
    ),
    ("kube-key", ("client-key-data",), r"client-key-data:\s*(?P<v>[A-Za-z0-9+/=]{40,8000}+)"),
)

PASSWORD_WORDS = (
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "_pass",
    "-pass",
    "psk",
    "shared key",
    "shared-key",
    "community s",
)

_NAMES = (
    r"(?:api|app(?:lication)?|consumer|network|stream|deploy|storage|shared|ingest|device|pairing|unlock|mesh|auth|access|client|account|private|secret|service|master|encryption|signing|bot|webhook|refresh|session|admin"
    r"|root|db|database)"
)
_OBJECT = r"(?:pass(?:word|phrase|code)|pwd|passwd|pw|psk|(?:pre-?)?shared[ -]key|community string)"
_NAMED_OBJECT = r"(?:pass(?:word|phrase|wd)|(?<![a-z])(?:pwd|pw|passcode|psk)|shared[ -]key|(?<=bind|root|user)pw|(?<=[_.-])pass)"
"""End of the name of a variable, a field or an option that holds a password."""
_OPEN_KEY = r"(?<!gpg )(?<!pgp )(?<!public )(?<!primary )(?<!foreign )(?<!cache )(?<!partition )(?<!sort )(?<!host )"
"""Before a key that is no secret."""
_STOP = r"(?=\s*(?:[.,;!?)\n。，！]|$))"
"""End of a number that stands for itself: no unit, and nothing that is counted, follows."""
_OF = "fürs|für|of|for|to|der|meiner|zum|zur|de|del|della|di"
_ARTICLES = r"(?:die|den|das|meine|meinen|the|my|our|la|el|le|ma|mon|mi|mia|il|l['’])\s?"
_GUARDED = (
    r"ec-karte|karte|bankkarte|kreditkarte|handy|alarmanlage|tresor|carte|coffre|alarme|tarjeta|alarma|caja fuerte|cajero"
    r"|carta|bancomat|allarme|cassaforte"
)
"""Things that a number opens, besides the English ones."""
_END = r"(?=[\s.,;!?)。，；！]|$)"
_KEY_VALUE = r"[\"'`«「“]?(?P<v>[a-z0-9_+/.~=-]{16,400}+)"
_ARGUMENT = r"(?P<v>\"[^\"\n]{3,120}\"|'[^'\n]{3,120}'|(?![-<$%{])[^\s\"'`;|&]{3,400}+)"
_DEVICE = (
    r"(?:phone|screen[ -]?lock|lock[ -]?screen|device|tablet|laptop|card|debit|credit|bank(?:ing)?"
    r"|sim|alarm|voicemail|atm)"
)
_ONE_TIME = (
    r"(?:verification|two-factor|2fa|mfa|one-time|otp|login|sign-in|security|confirmation|sms)"
)
_WIFI = r"(?:wi-?fi|wlan|wpa[23]?|wep|ssid|fritz!?box|router|hotspot|netzwerk)"


def _read_options() -> tuple[tuple[str, tuple[str, ...], str, str], ...]:
    """Build a rule of each line of ``secret_options.txt``: commands, and the options of secrets."""
    rules = []
    for line in read_rows(__file__, "secret_options"):
        commands, options = line.split(": ")
        names = tuple(commands.split(" | "))
        words = "|".join(map(re.escape, names))
        rules.append(
            (
                "command-password",
                names,
                rf"\b(?:{words})\b[^\n|;&`]{{0,200}}?\s(?-i:{options}){_ARGUMENT}",
                "assigned",
            )
        )
    return tuple(rules)


_FOREIGN_WORDS = tuple(read_rows(__file__, "password_words"))
# Folding a text keeps the letters before a mark of length: "contraseña" is found by "contrase".
_FOREIGN_LITERALS = tuple(word[:8] for word in _FOREIGN_WORDS)
_RECOVERY_WORDS = tuple(read_rows(__file__, "recovery_words"))
_SEED_WORDS = tuple(read_rows(__file__, "seed_words"))
_CODES_SENT = tuple(read_rows(__file__, "codes_sent"))
_KEY_PREFIXES = tuple(" ".join(read_rows(__file__, "key_prefixes")).split())
_PASSWORD_NOUN = rf"(?:{'|'.join(_FOREIGN_WORDS)}|{_OBJECT})"
_KEY_WORDS = {
    name: "|".join(sorted(words, key=len, reverse=True))
    for name, words in read_classes(__file__, "key_words").items()
}
_KEY_OF_SERVICE = (
    rf"(?<!\w)(?:(?:{_KEY_WORDS['qualifiers']})[\s-]?(?:{_KEY_WORDS['nouns']})"
    rf"|(?:{_KEY_WORDS['nouns']})\s(?:d['’]|(?:de|di|do|da|für|zur|pour|para|per)\s)?(?:l['’]|(?:la|die)\s)?"
    rf"(?:{_KEY_WORDS['qualifiers']}))(?!\w)"
)
"""A key named as one of a service: "API-Schlüssel", "clé d'accès", "clave de la API"."""

# Families recognised by the words around them, ignoring case: (family, literals, pattern, check of
# the value).
PROSE: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    *_read_options(),
    (
        "bearer-token",
        ("bearer ",),
        r"\bbearer\s+(?P<v>(?![<{$\[])(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{20,4000}+=*)",
        "",
    ),
    (
        "basic-auth",
        ("basic ",),
        r"\bauthorization['\"]?\s*[:=]\s*['\"]?basic\s+(?P<v>[A-Za-z0-9+/]{8,400}+={0,2})",
        "",
    ),
    (
        "basic-auth",
        ("basic ",),
        r"\bbasic\s+(?P<v>[A-Za-z0-9+/]{8,400}+={0,2})(?![\w+/])",
        "basic",
    ),
    (
        "url-password",
        ("oracle:", "sqlplus"),
        r"(?:\boracle:\w{2,8}:|\bsqlplus\s+(?:-\w+\s+)?)[\w.-]{1,60}/(?P<v>[^\s@/'\"]{3,120}+)@",
        "",
    ),
    (
        "cookie",
        ("cookie:",),
        r"\b(?:set-)?cookie:\s*[\w-]{0,40}(?:sess|token|auth|sid)[\w-]{0,40}=(?P<v>[\w%.+/-]{16,2000}+)",
        "",
    ),
    (
        "assigned-secret",
        ("key", "token", "secret", "credential", "_salt"),
        (
            rf"(?<![a-z])(?:{_NAMES}[_\- ]?)?(?:(?:api|{_NAMES})[_\- ]?key|[a-z]{{2,20}}_salt|secret(?:[_\- ]?key)?|token|access[_\- ]?key"
            rf"|private[_\- ]?key|auth[_\- ]?key|credentials?)"
            r"(?:[_-]\w{1,20})?['\"]?\]?\s{0,3}(?::=|=>|[:=]|\bis\b|\blautet\b|\best\b|\bes\b)\s{0,3}(?P<v>\"[^\"\s]{8,400}\""
            r"|'[^'\s]{8,400}'|`[^`\s]{8,400}`|[\w+/.~=-]{16,400}+)"
        ),
        "random",
    ),
    (
        "assigned-password",
        (),
        (
            rf"{_NAMED_OBJECT}['\"]?\]?\s{{0,3}}(?::=|=>|=(?!=)|(?<=['\"]),)\s{{0,3}}(?P<v>\"[^\"\n]{{4,120}}\""
            rf"|'[^'\n]{{4,120}}'|[^\s\"',;)]{{4,120}}+)"
        ),
        "assigned",
    ),
    (
        "stated-password",
        (),
        (
            rf"{_NAMED_OBJECT}\b['\"]?\s{{0,2}}[:：]\s{{0,3}}(?P<v>\"[^\"\n]{{3,80}}\"|'[^'\n]{{3,80}}'|[^\s\"',;)]{{3,80}}+)"
        ),
        "assigned",
    ),
    (
        "spoken-password",
        (),
        (
            rf"\b(?:my|our|the|his|her|their|your|whose|[\w-]{{2,20}}'s|wi-?fi|login|admin|root|account|email|bank|laptop|phone"
            rf"|vault)\s+(?:[\w-]{{1,20}}\s+){{0,2}}?{_OBJECT}s?"
            r"(?:\s+(?:for|to|of|at|on)\s+[\w' .-]{1,40}?)?\s+(?:(?:has been |was |is )?changed to|is|was|=|will be|used to be)\s*:?"
            r"\s+(?:now "
            r"|still |just )?(?P<v>\"[^\"\n]{3,80}\"|'[^'\n]{3,80}'|`[^`\n]{3,80}`|\S{3,80}+)"
        ),
        "spoken",
    ),
    (
        "spoken-password",
        _FOREIGN_LITERALS,
        (
            rf"(?<!\w)[^\W\d_]{{0,20}}?(?:{'|'.join(_FOREIGN_WORDS)})(?!\w)(?:\s+(?:für|fürs|zum|vom|von|im|de|del|du|da|do|para|en|pour|per|voor|för|til)"
            r"\s+[\w' .-]{1,40}?)?\s*(?:[:：=]|\s(?:ist|lautet|heißt|es|era|est|c'est|è|é|is|är|er|to|jest|это|olan)\b"
            r"(?:\s(?:übrigens|jetzt|nun|ahora|maintenant|désormais|adesso|agora|nu)\b)?)\s{0,2}:?\s*"
            r"(?P<v>\"[^\"\n]{3,80}\"|«[^»\n]{3,80}»|[^\s\"«,;]{3,80}+)"
        ),
        "foreign",
    ),
    (
        "spoken-password",
        (*_FOREIGN_LITERALS, "密码", "パスワード"),
        (
            rf"(?:(?<!\w)(?:{'|'.join(_FOREIGN_WORDS)})|密码|パスワード)(?:\s(?:für|fürs|zum|vom|от|для|к)\s[\w.-]{{1,30}})?"
            r"\s+[\"']?(?P<v>[^\s\"',;]{6,80}+)"
        ),
        "telling",
    ),
    (
        "spoken-password",
        PASSWORD_WORDS,
        (
            rf"(?<![a-z/]){_OBJECT}(?:\s(?:für|fürs|zum|vom|de|del|du|da|do|para|pour)\s[\w' .-]{{1,40}}?)?"
            r"\s(?:lautet|heißt|ist|c'est|est|es|era|è|é)\s[\"'`]?(?P<v>[^\s\"'`,;]{6,80}+)"
        ),
        "mixed",
    ),
    # "changed my password to …", "das Passwort auf … geändert", "… comme mot de passe"
    (
        "spoken-password",
        (*PASSWORD_WORDS, *_FOREIGN_LITERALS),
        (
            rf"(?<!\w){_PASSWORD_NOUN}(?!\w)(?:\s(?!to\b|auf\b)[\w'.-]{{1,20}}){{0,3}}?\s(?:to|auf|zu|à|a|en|in|por|naar|till|til|na|на)\s"
            r"[\"'`«]?(?P<v>[^\s\"'`«»,;/]{6,80}+)"
        ),
        "three sorts",
    ),
    (
        "spoken-password",
        (
            "als passwort",
            "als mein",
            "als kennwort",
            "comme mot de",
            "como contrase",
            "como clave",
            "come password",
            "as password",
            "as my pass",
            "as the pass",
            "as our pass",
            "som lösen",
            "som passord",
            "jako has",
            "como senha",
            "als wachtwoord",
        ),
        rf"(?<!\S)[\"'`«]?(?P<v>[^\s\"'`«»,;/]{{6,80}})[\"'`»]?\s(?:als|comme|como|come|as|som|jako)\s(?:\w{{2,6}}\s)?{_PASSWORD_NOUN}(?!\w)",
        "three sorts",
    ),
    (
        "spoken-password",
        PASSWORD_WORDS,
        rf"(?<![a-z]){_OBJECT},?\s(?:it['’]?s|its|that['’]?s)\s[\"'`]?(?P<v>[^\s\"'`,;]{{6,80}}+)",
        "three sorts",
    ),
    (
        "app-password",
        (
            "app pass",
            "app-pass",
            "app specific",
            "app-specific",
            "mot de passe d'app",
            "contraseña de app",
            "contraseña de apl",
        ),
        (
            r"(?:\bapp(?:lication)?(?:[ -]specific)?[ -](?:pass(?:word|wort)|kennwort)|mot de passe d'app\w*|contraseña de apl?p?\w*)"
            r"\b[^\n]{0,40}?(?<!\w)(?P<v>[a-z]{4}(?: [a-z]{4}){3})(?!\w)"
        ),
        "scrambled",
    ),
    (
        "wifi-key",
        ("wifi:",),
        r"\bwifi:(?=[^\n]{0,200}?;)[^\n]{0,200}?(?<=[:;])p:(?P<v>(?:\\\\.|[^;\n\\\\]){4,80})",
        "",
    ),
    (
        "wifi-key",
        ("wlan", "wifi", "wi-fi"),
        r"(?<!\w)(?:wi-?fi|wlan)\s?[:=]\s?(?P<v>(?!\d(?:[.,]\d)?ghz)[^\s\"',;:]{8,63}+)",
        "three sorts",
    ),
    (
        "basic-auth",
        ("auth",),
        r"(?<!\w)_?auth['\"]?\s?[:=]\s?['\"]?(?P<v>[A-Za-z0-9+/]{8,400}+={0,2})",
        "basic",
    ),
    (
        "vendor-key",
        tuple(prefix.lower() for prefix in _KEY_PREFIXES),
        rf"(?<![\w/.-])(?-i:{'|'.join(map(re.escape, _KEY_PREFIXES))})(?P<v>[\w-]{{20,400}}+)",
        "generated",
    ),
    (
        "vendor-key",
        ("key_", "key-", "api_", "api-", "tok", "secret", "sk_", "sk-", "pat_", "pat-"),
        (
            r"(?<![\w/.-])(?-i:(?!pub|cache|primary|foreign|idem|id)(?:[a-z][a-z0-9]{0,11}[_-])?[a-z0-9]{0,8}"
            r"(?:key|api|tok|token|secret|sk|pat)(?:[_-](?:v\d|[a-z]{2,8})){0,2}[_-])(?P<v>[\w-]{24,400}+)"
        ),
        "generated",
    ),
    (
        "spoken-secret",
        tuple(_KEY_WORDS["nouns"].split("|")),
        (
            rf"\b{_OPEN_KEY}(?:{_KEY_WORDS['nouns']})(?:\s[\w.-]{{1,20}}){{0,2}}?(?:\s?[:：=]\s?|\s)[\"'`]?"
            r"(?P<v>(?![0-9a-f]{32,64}(?!\w))[\w-]{20,400}+)(?![./])"
        ),
        "generated",
    ),
    (
        "spoken-secret",
        tuple(_KEY_WORDS["joined"].split("|")),
        rf"(?:{_KEY_WORDS['joined']})\s(?P<v>[\w-]{{20,400}}+)",
        "generated",
    ),
    (
        "auth-header",
        ("authorization",),
        r"\bauthorization['\"]?\s*[:=]\s*['\"]?(?:token|apikey|api-key|key)\s+(?P<v>[\w.~+/-]{16,400}+=*)",
        "random",
    ),
    (
        "assigned-password",
        (*PASSWORD_WORDS, "secret>", "token>"),
        r"<(?P<name>[\w.:-]{0,20}(?:pass(?:word|wd)?|pwd|secret|token))>(?P<v>[^<>\s]{4,120})</(?P=name)>",
        "assigned",
    ),
    (
        "assigned-password",
        ("value:",),
        (
            r"\bname:\s{0,3}['\"]?\w{0,40}(?:pass(?:word|wd)?|pwd|token|secret)['\"]?\s{0,40}\n\s{0,40}value:\s{0,3}"
            r"['\"]?(?P<v>[^\s'\"]{4,200})"
        ),
        "assigned",
    ),
    (
        "assigned-password",
        ("pass=", "pass =", "pass:"),
        r"(?<![\w-])pass\s?[:=]\s?(?P<v>[^\s\"'`,;)]{6,80}+)",
        "mixed",
    ),
    (
        "stated-password",
        (),
        (
            rf"(?<![a-z]){_OBJECT}\s(?:for|to|of|at|on|from)\s[\w' .-]{{1,40}}?(?:\s?[:=]\s?|\sis\s)"
            r"(?P<v>\"[^\"\n]{6,80}\"|'[^'\n]{6,80}'|[^\s\"',;)]{6,80}+)"
        ),
        "telling",
    ),
    (
        "otp-seed",
        ("otp", "2fa", "authenticator", "setup key"),
        (
            r"\b(?:t?otp|2fa|authenticator|setup)[\w -]{0,16}?(?:key|secret|schlüssel|code)[\w ]{0,12}?\s?[:=]?\s"
            r"(?P<v>[a-z2-7]{4}(?: [a-z2-7]{4}){3,15})(?!\w)"
        ),
        "mixed groups",
    ),
    (
        "spoken-password",
        ("密码", "密碼", "口令", "パスワード", "비밀번호"),
        (
            r"(?:密码|密碼|口令|パスワード|비밀번호)\s*(?:是|为|為|：|:|=|は|を|는|설정|設定为|改成了?|换成了?)\s*[「“\"']?(?P<v>[!-~]{3,80}+)"
        ),
        "spoken",
    ),
    (
        "spoken-secret",
        tuple(_KEY_WORDS["nouns"].split("|")),
        (
            rf"{_KEY_OF_SERVICE}(?:\s(?:für|fürs|zum|vom|von|de|del|du|di|da|do|para|pour|per|voor|for)\s[\w' .-]{{1,40}}?)?"
            r"(?:\s?[:：=]\s{0,3}|\s(?:ist|lautet|heißt|war|es|era|est|était|è|é|is|was):?\s{1,3}|\s{1,3})"
        )
        + _KEY_VALUE,
        "random",
    ),
    (
        "spoken-secret",
        tuple(_KEY_WORDS["joined"].split("|")),
        (
            rf"(?:(?:{_KEY_WORDS['joined_qualifiers']})\s?の?(?:{_KEY_WORDS['joined']})|(?:{_KEY_WORDS['joined']}))"
            r"\s?(?:是|为|為|：|:|=|は|が)\s{0,2}"
        )
        + _KEY_VALUE,
        "random",
    ),
    # Commands, as developers type them and agents run them.
    (
        "command-password",
        (" login", "sshpass", "smbclient"),
        (
            r"\b(?![^\n|;&`]{0,300}--password-stdin)(?:(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|argocd|heroku|npm|vault)\b[^\n|;&`]{0,200}?"
            r"\blogin\b[^\n|;&`]{0,200}?|sshpass)\s(?:-p(?:\s+|=)?|--password(?:\s+|=))(?P<v>\"[^\"\n]{4,120}\"|'[^'\n]{4,120}'"
            r"|(?!stdin)[^\s\"'`;|&]{4,120}+)"
        ),
        "assigned",
    ),
    (
        "command-password",
        ("mysql", "mariadb"),
        (
            r"\b(?:mysql|mariadb)(?:dump|admin|import|check|show|sh)?\b[^\n|;&`]{0,200}?\s-p"
            r"(?P<v>\"[^\"\n]{3,120}\"|'[^'\n]{3,120}'|[^\s\"'`;|&]{3,120}+)"
        ),
        "assigned",
    ),
    (
        "command-password",
        ("-pass", "-token", "-api-key", "-secret"),
        (
            r"(?<!\S)--?(?:password|passwd|passphrase|pass|token|auth-token|api-key|secret|client-secret)(?:=|\s+)"
            r"(?P<v>\"[^\"\n]{6,200}\"|'[^'\n]{6,200}'|(?![-<${])[^\s\"'`;|&]{6,400}+)"
        ),
        "mixed",
    ),
    (
        "spoken-secret",
        ("key", "token", "secret"),
        (
            rf"\b(?:{_NAMES}[_\- ]?)+(?:key|token|secret)\s+(?:\"|'|`)?"
            r"(?P<v>(?=[\w+/.~=-]{0,200}?\d[\w+/.~=-]{0,200}?[a-z][\w+/.~=-]{0,200}?\d)[\w+/.~=-]{16,400}+)"
        ),
        "random",
    ),
    (
        "spoken-secret",
        ("key", "token", "secret"),
        (
            r"\b(?:key|token|secret)s?\s+(?:for|of|to|on)\s+[\w' .-]{1,60}?\s(?:is|was|=)\s+(?:now\s+)?(?:\"|'|`)?"
            r"(?P<v>[\w+/.~=-]{12,400}+)"
        ),
        "random",
    ),
    (
        "spoken-password",
        (),
        (
            rf"(?<![a-z/]){_OBJECT}\s+(?:\d\s)?(?P<v>\"[^\"\n]{{6,80}}\"|'[^'\n]{{6,80}}'|`[^`\n]{{6,80}}`|[^\s\"'`,;)]{{6,80}}+)"
        ),
        "telling",
    ),
    (
        "spoken-password",
        (),
        rf"\b{_OBJECT}\s+(?:is|was|ist|=)\s+(?:now\s+)?(?P<v>[^\s\"'`,;)]{{6,80}}+)",
        "stated",
    ),
    (
        "assigned-password",
        (".login(", ".auth(", ".authenticate("),
        r"\.(?:login|auth|authenticate)\(\s{0,3}(?:user=)?['\"][^'\"\n]{1,80}['\"],\s{0,3}(?:password=)?(?P<v>'[^'\n]{4,120}'|\"[^\"\n]{4,120}\")",
        "mixed",
    ),
    (
        "assigned-secret",
        (".sign(", ".verify(", ".encode(", ".decode("),
        r"\bjwt\.(?:sign|verify|encode|decode)\([^\n,]{1,80},\s{0,3}(?P<v>'[^'\s]{8,400}'|\"[^\"\s]{8,400}\")",
        "mixed",
    ),
    (
        "login",
        (" / ",),
        r"(?:\b[\w.+-]{1,40}@[\w-]{1,40}\.[\w.-]{2,40}|\b(?:admin|root))\s/\s(?P<v>[^\s\"'`,;/)]{6,80}+)",
        "mixed",
    ),
    (
        "auth-header",
        ("-key", "-token", "-secret", "-auth", "-api"),
        r"(?<![\w-])x-(?:[\w-]{0,30}-)?(?:key|token|secret|auth|api)['\"]?:\s?['\"]?(?P<v>[\w.~+/-]{16,400}+=*)",
        "random",
    ),
    (
        "assigned-secret",
        ("client(", "api(", "sdk("),
        (
            r"(?<!\w)\w{0,30}(?:client|api|sdk)\((?:\w{2,20}\s?=\s?)?['\"](?P<v>(?=(?-i:[\w-]{0,200}?[A-Z]))(?=(?-i:[\w-]{0,200}?[a-z]))"
            r"[\w-]{24,200}+)['\"]"
        ),
        "scattered",
    ),
    (
        "command-password",
        ("token=", "password=", "secret=", "passphrase="),
        r"(?<!\S)-d[\w.]{0,40}(?:token|password|secret|passphrase)=(?P<v>[^\s\"']{6,200}+)",
        "mixed",
    ),
    (
        "wifi-key",
        ("wifi", "wi-fi", "wlan", "router"),
        (
            r"(?<!\w)(?:code|clave|clé|clef|chiave|chave)\s(?:(?:du|de la|del|de|della|del|do|para el|pour le)\s)?(?:wi-?fi|wlan|router)"
            r"(?:\s?[:=]\s?|\s(?:c'est|est|es|è|é|is)\s|\s)(?P<v>[^\s\"',;:]{8,63}+)"
        ),
        "mixed",
    ),
    (
        "recovery-code",
        ("bitlocker", "recovery", *(words[:8] for words in _RECOVERY_WORDS)),
        r"(?<!\d)(?P<v>\d{6}(?:-\d{6}){7})(?!\d)",
        "",
    ),
    (
        "command-password",
        (" login ", " auth ", "authorize-account "),
        r"(?:^|[$;&|]|\brun|\bwith)\s{0,3}[a-z][\w-]{1,20} (?:login|auth|authorize-account \w+) (?P<v>[\w-]{20,400}+)(?=\s|$)",
        "random",
    ),
    (
        "query-token",
        ("appid=", "oauth:"),
        r"(?<!\w)(?:appid=(?=[0-9a-f]{32}(?!\w))|oauth:(?=[a-z0-9]{30}(?!\w)))(?P<v>\w{30,32})",
        "",
    ),
    (
        "spoken-secret",
        ("key ", "token ", "secret ", "pat "),
        (
            r"(?<=\w )(?:key|token|secret|pat)\s+(?P<v>(?!AAAA)(?=\S{0,200}?\d)(?=(?-i:\S{0,200}?[A-Z]))(?=(?-i:\S{0,200}?[a-z]))"
            r"[\w+/-]{20,400}+={0,2})(?=[\s.,;]|$)"
        ),
        "scattered",
    ),
    # A line or field that is nothing else: "secret: open-sesame-now", "client_secret: abc".
    (
        "stated-secret",
        ("secret",),
        (
            r"(?m:^)[\s>*{-]{0,8}['\"]?(?:[\w-]{1,30}[_-])?secret['\"]?[ \t]?[:=][ \t]{0,3}"
            r"(?P<v>(?=[a-z]{0,80}[^a-z\s])[^\s\"',;]{8,120}+)(?=[ \t]{0,3}(?m:$))"
        ),
        "field",
    ),
    (
        "assigned-secret",
        ("secret",),
        (
            r"(?<![a-z])(?:api|app|auth|client|consumer|jwt|oauth|session|shared|signing|webhook)[_-]?secret['\"]?[ \t]?[:=][ \t]{0,3}"
            r"(?P<v>\"[^\"\s]{3,120}\"|'[^'\s]{3,120}'|[^\s\"',;}]{3,120}+)(?=[ \t]{0,3}(?:[,;}\n]|$))"
        ),
        "field",
    ),
    (
        "spoken-secret",
        ("key", "token", "secret"),
        rf"\b{_OPEN_KEY}(?:key|token|secret)s?\s+(?:is|was|contains)\s+(?:now\s+)?[\"'`]?(?P<v>[\w+/.~=-]{{20,400}}+)",
        "random",
    ),
    (
        "spoken-secret",
        ("key", "token", "secret"),
        rf"\b{_OPEN_KEY}(?:app|nwk)?(?:key|token|secret)[\s:]{{1,2}}\"?"
        r"(?P<v>(?:0x)?[0-9a-f]{32,256}+|[\w+/.~-]{32,400}+={0,2})(?!\w|  \S)",
        "random",
    ),
    (
        "stated-secret",
        ("secret",),
        (
            r"(?<![\w-])(?:[\w-]{1,30}[_ -])?secret(?:[_ -]?key)?['\"]?\]?(?:\s?[:=]|\sis)\s?[\"'`]?(?P<v>[\w.~!@#%^*+-]{8,120}+)"
            r"(?=[\s.,;&\"'`]|$)"
        ),
        "worded",
    ),
    (
        "assigned-secret",
        ("_key", "_token", "_secret", "_session", "_salt"),
        (
            r"(?<!\w)(?-i:[A-Z][A-Z0-9_]{1,40}_(?:KEY|TOKEN|SECRET|SESSION|SALT))['\"]?\s{0,3}[:=]\s{0,3}"
            r"(?P<v>\"[^\"\s]{16,400}\"|'[^'\s]{16,400}'|[\w+/.~=-]{16,400}+)"
        ),
        "random",
    ),
    (
        "command-password",
        ("requirepass", "masterauth", "bindpw", "rocommunity", "rwcommunity", "enable secret"),
        r"\b(?:requirepass|masterauth|bindpw|r[ow]community6?|enable secret(?: \d)?)\s+(?P<v>[^\s\"'`]{4,120}+)",
        "assigned",
    ),
    (
        "wallet-key",
        ("wif", "btc", "bitcoin", "wallet", "private key", "import"),
        (
            r"\b(?:wif|btc|bitcoin|wallet|private key|import)\b[^\n]{0,40}?(?<!\w)"
            r"(?P<v>(?-i:5[1-9A-HJ-NP-Za-km-z]{50}|[KL][1-9A-HJ-NP-Za-km-z]{51}))(?!\w)"
        ),
        "random",
    ),
    (
        "recovery-code",
        ("recovery", "backup", *(words[:8] for words in _RECOVERY_WORDS)),
        (
            rf"(?:\b(?:recovery|backup)[ _-]codes?\b|(?:{'|'.join(_RECOVERY_WORDS)}))"
            r"(?:[^\n:：]{0,40}?(?:\bis\b|\bare\b|[:：=])|\s)\s{0,3}"
            r"(?P<v>[a-z0-9]{4,10}-[a-z0-9]{4,10}(?:[ ,]+[a-z0-9]{4,10}-[a-z0-9]{4,10}){0,20})"
        ),
        "",
    ),
    (
        "recovery-code",
        tuple(words[:8] for words in _RECOVERY_WORDS),
        rf"(?:{'|'.join(_RECOVERY_WORDS)})[^\n]{{0,40}}?(?<![\w-])(?P<v>(?-i:[A-Z0-9]{{4,8}}(?:-[A-Z0-9]{{4,8}}){{3,12}}))(?![\w-])",
        "",
    ),
    (
        "pin",
        ("code",),
        (
            r"\b(?:alarm|vault)\s+code"
            r"(?:\s+(?:for|of|to)\s+[\w ]{1,30}?)?(?:\s+is|\s*[:=])\s*(?P<v>\d{3,8}#?)"
        )
        + _END,
        "",
    ),
    (
        "pin",
        ("pin",),
        r"\bpin\b[^\n.:?!]{0,40}?\s(?:ist|lautet|est|es|è|é)\s(?P<v>\d{4,8})" + _STOP,
        "numeric",
    ),
    (
        "pin",
        ("code", "pin", "código", "codice", "geheimzahl", "clave"),
        (
            rf"\b(?:geheimzahl|code pin|(?:pin|code|código|clave|codice)\s(?:secret\w*\s)?(?:{_OF})\s"
            rf"(?:{_ARTICLES})?(?:{_GUARDED})[\w ]{{0,20}}?|(?:alarm|tresor|(?<!key )safe|vault)[ -]?code)"
            r"(?:\s?[:：=]\s?|\s(?:ist|lautet|est|es|è|is)\s|\s)(?P<v>\d{4,8})"
        )
        + _STOP,
        "numeric",
    ),
    (
        "pin",
        ("pin",),
        r"\bpin(?:\s?code)?\s+(?:for|of|to)\s+(?:the|my|our)\s+"
        r"(?![\w ]{0,24}\b(?:office|city|town|village|district|area)\b)[\w ]{1,30}?\s(?:is|was)\s+(?P<v>\d{3,8})"
        + _END,
        "numeric",
    ),
    (
        "pin",
        ("pin", "cvv", "cvc"),
        (
            r"\b(?:my|our|the|card|sim|bank|door|alarm)\s+(?:[\w-]{1,20}\s+){0,2}?(?:pin(?:\s?code)?|cvv"
            r"|cvc)(?:\s+for\s+[\w ]{1,30}?)?(?:\s+is|\s*[:=])\s*(?P<v>\d{3,8})"
        )
        + _END,
        "numeric",
    ),
    (
        "pin",
        ("pin", "code"),
        rf"\b{_DEVICE}[ _-](?:pin|passcode|pin code)(?:\s?[:=]\s?|\s(?:is\s)?)(?P<v>\d{{4,8}})"
        + _END,
        "",
    ),
    (
        "pin",
        ("code", "pin"),
        (
            rf"\b(?:pin|code|passcode)\s+(?:to|for|of)\s+(?:[a-z]+\s+){{0,2}}(?:the|my|our)\s+(?:[a-z]+\s+)?{_DEVICE}\b"
            r"[\w ]{0,20}?\s(?:is|was)\s+(?P<v>\d{3,8})"
        )
        + _END,
        "",
    ),
    (
        "pin",
        ("puk",),
        r"\bpuk\d?\b(?:\s[\w ]{1,30}?\sis)?[\s:=#-]{1,3}(?:is\s)?(?P<v>\d{8})(?!\d)",
        "",
    ),
    ("card-code", ("cvv", "cvc"), r"\bcv[vc]2?\b(?:\s?[:=]|\sis)?\s{0,2}(?P<v>\d{3,4})" + _END, ""),
    (
        "one-time-code",
        ("code", "otp", "2fa"),
        (
            rf"\b(?:{_ONE_TIME}[ -](?:code|password|pin)|otp)(?:\s?[:=#]\s?|\sis\s|\s)(?P<v>\d{{4,8}}(?!\d)|\d{{3}}[ -]\d{{3}}(?!\d))"
        ),
        "",
    ),
    (
        "pin",
        ("暗証番号", "暗证号"),
        r"暗(?:証番号|证号)\s?(?:は|が|[:：])\s?(?P<v>\d{4,8})(?!\d)",
        "",
    ),
    (
        "one-time-code",
        _CODES_SENT,
        rf"(?:{'|'.join(_CODES_SENT)})\s?(?:lautet|ist|est|es|è|é|是|为|は|[:：])\s?(?P<v>\d{{4,8}})(?!\d)",
        "",
    ),
    (
        "one-time-code",
        ("is your",),
        r"(?<![\w.])(?:[a-z]-)?(?P<v>\d{4,8})\s+is\s+your\s+(?:[\w-]{1,20}\s+){0,3}code\b",
        "",
    ),
    (
        "otp-seed",
        ("otp", "2fa", "authenticator"),
        r"\b(?:t?otp|2fa|authenticator)\b[\w -]{0,24}?(?:\s|[:=])\s?(?P<v>(?-i:[A-Z2-7]{16,64}))(?!\w)",
        "random",
    ),
    (
        "wifi-key",
        ("wi-fi", "wifi", "wlan", "wpa", "wep", "ssid", "fritz", "router", "hotspot", "netzwerk"),
        (
            rf"\b{_WIFI}[\w -]{{0,20}}(?:key|schlüssel|schluessel|code|clave|clé)(?:\s?[:=]\s?|\s(?:is\s|ist\s)?)"
            r"(?P<v>\d{4}(?:[ -]?\d{4}){1,5}(?!\d)|(?=\w{0,40}\d)[\w!@#$%-]{8,63}+)"
        ),
        "",
    ),
    (
        "session-cookie",
        ("sess", "sid"),
        (
            r"(?<![\w.-])(?:php|j|asp\.net_)?(?:sess(?:ion)?_?id|session[_-]?cookie|sessid|connect\.sid)['\"]?\s?[:=]\s?['\"]?"
            r"(?P<v>(?![0-9a-f]{8}-[0-9a-f]{4}-)[\w%.+/-]{20,400}+)"
        ),
        "random",
    ),
    (
        "defined-secret",
        ("define",),
        r"\bdefine\(\s*['\"](?-i:[A-Z0-9_]*(?:KEY|SALT|SECRET|TOKEN))['\"]\s*,\s*(?P<v>'[^'\n]{6,200}'|\"[^\"\n]{6,200}\")",
        "telling",
    ),
    (
        "pgpass",
        tuple(f":{first}" for first in "0123456789*"),
        r"(?<![\w/:.])[\w.*-]{1,80}:(?:[0-9]{4,5}|\*):[a-z*][\w*-]{0,40}:[a-z*][\w*-]{0,40}:(?P<v>[^\s'\":]{5,80}+)",
        "mixed",
    ),
    (
        "netrc",
        ("machine ",),
        r"\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(?P<v>\S{4,200})",
        "spoken",
    ),
    (
        "netrc",
        ("login",),
        r"\blogin\s+(?!page\b|form\b)\S{1,100}\s+pass(?:word)?\s+(?P<v>[^\s\"'`,;)]{4,200})",
        "mixed",
    ),
    (
        "login",
        (
            "user",
            "login",
            "creds",
            "credential",
            "zugangsdaten",
            "identifiant",
            "utilisateur",
            "usuario",
            "benutzer",
        ),
        (
            r"(?<!/)\b(?:user(?:name)?|login|creds?|credentials?|zugangsdaten|benutzer(?:name)?|identifiants?|utilisateur|usuario)\b[\s:=]{1,3}[\w.@+-]{1,60}"
            r"(?:\s?[:/|]\s?|,?\s{1,2}(?:and\s)?pass\s)(?P<v>(?!pass(?:word|wd)?[@:/])[^\s\"'`,;)]{5,80}+)"
        ),
        "telling",
    ),
    (
        "login",
        ("as the password", "as password", "as the pass", "as my password"),
        r"\bwith\s+[\"'`]?(?P<v>[^\s\"'`]{4,80})[\"'`]?\s+as\s+(?:the\s|my\s|its\s|our\s)?pass(?:word|phrase|code)\b",
        "spoken",
    ),
    ("command-password", ("pass:",), r"(?<![\w:])pass:(?P<v>[^\s'\"`;|&:]{5,120}+)", "telling"),
    (
        "command-password",
        ("echo ", "printf "),
        (
            r"\b(?:echo|printf)\s+(?:-n\s+)?['\"]?(?P<v>(?![$<])[^\s'\"|]{3,120})['\"]?\s*\|\s*[^\n|]{0,80}"
            r"(?:--passphrase-fd|--password-stdin|--stdin\b|cryptsetup|chpasswd|kinit|su\b|mount)"
        ),
        "telling",
    ),
    (
        "spelled-password",
        ("passw", "spelled"),
        r"\bpassword\b[^\n]{0,40}?(?<!\w)(?P<v>(?:[a-z0-9]-){4,40}[a-z0-9])(?![\w-])",
        "",
    ),
    (
        "passphrase",
        ("passphrase", "passwor"),
        (
            r"\bpass(?:phrase|word)\s?(?:[:=]|\bis\b)?\s{0,2}(?P<v>[\"'`][a-z0-9]+(?: [a-z0-9]+){2,11}[\"'`]"
            r"|[a-z]{3,12}(?: [a-z]{3,12}){2,11}(?=\.|,|\s*$|\n))"
        ),
        "words",
    ),
    (
        "passphrase",
        ("passphrase", "passwor"),
        r"\bpass(?:phrase|word)\s?[:=]\s{0,2}(?P<v>[a-z]{3,12}(?: [a-z]{3,12}){2,11}(?=\.|,|\s*$|\n))",
        "field words",
    ),
    (
        "seed-phrase",
        ("seed", "recovery", "wallet", "mnemonic", *_SEED_WORDS),
        (
            rf"(?:\b(?:seed|recovery|wallet|mnemonic)\b|{'|'.join(_SEED_WORDS)})"
            r"[^\n0-9]{0,40}?(?P<v>1[.)]\s?[a-z]{3,8}(?:[\s,]{1,3}\d{1,2}[.)]\s?[a-z]{3,8}){11,23})"
        ),
        "",
    ),
    (
        "licence-key",
        ("licen", "product", "serial", "activation", "slmgr"),
        (
            r"\b(?:licen[cs]e|product|serial|activation|slmgr)\b[^\n]{0,24}?(?<!\w)"
            r"(?P<v>(?-i:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){3,7}))(?![\w-])"
        ),
        "",
    ),
    (
        "seed-phrase",
        _SEED_WORDS,
        (
            rf"(?:{'|'.join(_SEED_WORDS)})[^\n:：=]{{0,30}}(?:[:：=]|\bis\b|\bist\b|\best\b|\bes\b|是|は)"
            r"\s*['\"]?(?P<v>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
        ),
        "",
    ),
)

# Remarks about a password, not passwords.
PLAIN = word_set(read_vocabulary(__file__, "plain"))
