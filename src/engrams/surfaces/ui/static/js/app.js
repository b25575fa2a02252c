// Entry of the page: frame, routes to views, keyboard shortcuts.

import { onKeyNeeded, Problem } from "./api.js";
import { askKey } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { frame } from "./frame.js";
import { t } from "./i18n.js";
import { findProvider, finishLogin, logIn } from "./login.js";
import { toastError } from "./toast.js";

const VIEWS = {
  chat: () => import("./views/chat.js"),
  memories: () => import("./views/memories.js"),
  tiers: () => import("./views/tiers.js"),
  graph: () => import("./views/graph.js"),
  timeline: () => import("./views/timeline.js"),
  garden: () => import("./views/garden.js"),
  jobs: () => import("./views/jobs.js"),
  spaces: () => import("./views/spaces.js"),
  devices: () => import("./views/devices.js"),
  charts: () => import("./views/charts.js"),
  import: () => import("./views/import.js"),
  settings: () => import("./views/settings.js"),
};

// Whoever comes back from a login has a key before the first request.
const loginFault = await finishLogin().catch((fault) => fault);
const main = document.getElementById("main");
const side = frame(document.getElementById("side"));
let leave = () => {};
let turn = 0;

/** `#/memories?layer=semantic` as a name and its parameters. */
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: Object.hasOwn(VIEWS, path) ? path : "chat", params: new URLSearchParams(query ?? "") };
}

async function show() {
  const mine = ++turn;
  const { name, params } = route();
  leave();
  leave = () => {};
  for (const box of document.querySelectorAll("dialog[open]")) box.close("");
  side.current(name);
  try {
    const view = await VIEWS[name]().catch(() => {
      throw new Problem(0, t("engrams_does_not_answer"), t("is_engrams_serve_still_running"));
    });
    if (mine !== turn) return;
    document.title = `${view.title} · engrams`;
    const root = h("div", { class: `view view-${name}` });
    fill(main, root);
    leave = (await view.show(root, params)) ?? (() => {});
    if (mine !== turn) leave();
  } catch (fault) {
    if (mine !== turn) return;
    fill(
      main,
      h(
        "div",
        { class: "view" },
        h(
          "div",
          { class: "problem", role: "alert" },
          icon("warn"),
          h("div", {}, h("p", {}, fault.message), h("p", { class: "soft" }, fault.hint ?? "")),
        ),
      ),
    );
  }
}

onKeyNeeded(async (refused, hasProvider) => {
  const provider = hasProvider ? await findProvider() : null;
  const detail = refused ? t("key_not_accepted") : t("stored_until_you_close_this");
  return askKey(t("this_server_requires_a_key"), detail, provider && (() => logIn(provider)));
});

// The address belongs to the views, so the link to the content moves the focus only.
document.querySelector(".skip").textContent = t("skip_to_content");
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", async () => {
  await show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
addEventListener("unhandledrejection", (event) => event.reason?.status !== undefined && toastError(event.reason));
// Files dropped anywhere are imported; a browser would leave the page and show the file instead.
addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
addEventListener("drop", async (event) => {
  const files = [...(event.dataTransfer?.files ?? [])];
  if (event.defaultPrevented || files.length === 0) return;
  event.preventDefault();
  (await VIEWS.import()).offer(files);
  if (route().name === "import") show();
  else location.hash = "#/import";
});
addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const box = main.querySelector("[data-search]");
    if (box) event.preventDefault();
    box?.focus();
  }
});

// What other apps share goes through a worker, where the connection is safe.
const worker = { createScriptURL: () => new URL("share.js", import.meta.url).href };
navigator.serviceWorker?.register((globalThis.trustedTypes?.createPolicy("share", worker) ?? worker).createScriptURL(""), { scope: "/ui/share" }).catch(() => {});

show();
if (loginFault) toastError(loginFault);
