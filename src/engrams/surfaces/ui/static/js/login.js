// Login at the provider of the server's tokens: the code flow with PKCE. Its token is the page's key.

import { Problem } from "./api.js";
import { t } from "./i18n.js";
import { getForWindow, setForWindow, setKey } from "./pinned.js";

const PENDING = "login";

/** The address to which the provider sends the browser back. */
const back = () => `${location.origin}/`;

/** Where the browser is sent for a login, or null where this server has none. A hash needs a safe connection. */
export async function findProvider() {
  if (!crypto.subtle) return null;
  const answer = await fetch("/v1/login", { cache: "no-store" }).catch(() => null);
  const provider = answer?.ok ? await answer.json() : null;
  return provider?.address ? provider : null;
}

/** Leave the page for the provider's login. */
export async function logIn(provider) {
  const verifier = random();
  const state = random();
  setForWindow(PENDING, JSON.stringify({ verifier, state, hash: location.hash }));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const url = new URL(provider.address);
  const wish = {
    response_type: "code",
    client_id: provider.client,
    redirect_uri: back(),
    scope: provider.scope,
    state,
    code_challenge: encode(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(wish)) url.searchParams.set(name, value);
  location.assign(url);
}

/** Finish a login from which the browser comes back; a Problem where it failed. */
export async function finishLogin() {
  const query = new URLSearchParams(location.search);
  const pending = JSON.parse(getForWindow(PENDING) || "null");
  // Some providers leave the state out of a refusal, which is only shown.
  if (!pending || (query.get("state") !== pending.state && !query.get("error"))) return;
  setForWindow(PENDING, "");
  history.replaceState(null, "", `${location.pathname}${pending.hash}`);
  if (query.get("error") || !query.get("code")) throw new Problem(401, t("the_provider_refused_the_login"), query.get("error") ?? "");
  const answer = await fetch("/v1/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: query.get("code"), code_verifier: pending.verifier, redirect_uri: back() }),
  });
  const given = await answer.json();
  if (!answer.ok) throw new Problem(answer.status, given.detail, given.hint);
  setKey(given.token);
}

const random = () => encode(crypto.getRandomValues(new Uint8Array(32)));

const encode = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
