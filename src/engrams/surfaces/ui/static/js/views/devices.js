// Devices of one memory: when each told something, and purges that not every one of them made.

import { get, post, Problem } from "../api.js";
import { button, empty, fill, h, head, icon, scrollBox } from "../dom.js";
import { ago, moment } from "../format.js";
import { named, t } from "../i18n.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";

export const title = t("devices");

const NOT_FOUND = 404;

export async function show(root) {
  const body = h("div", { class: "stack" });
  const exchange = button(
    t("exchange_now"),
    withToast(async () => {
      await post("/v1/sync", {});
      await draw(body, exchange);
      toast(t("exchanged"));
    }),
    { icon: "retry", kind: "main-action" },
  );
  exchange.hidden = true;
  fill(root, head(t("devices"), t("one_memory_on_several_devices"), exchange), body);
  await draw(body, exchange);
}

async function draw(body, exchange) {
  let state;
  try {
    state = await get("/v1/sync");
  } catch (fault) {
    const isAlone = fault instanceof Problem && fault.status === NOT_FOUND;
    exchange.hidden = true;
    fill(body, isAlone ? empty("devices", t("this_device_alone"), t("sync_init_shares_this_memory")) : errorBox(fault));
    return;
  }
  // Memory of others is no reason to show none of the devices.
  const { conflicts } = await get("/v1/garden/conflicts").catch(() => ({ conflicts: [] }));
  exchange.hidden = false;
  fill(
    body,
    h("section", { class: "stack tight", "aria-label": t("devices") }, notes(state, conflicts.length)),
    scrollBox(t("devices"), table(state.devices)),
    h("p", { class: "small soft" }, state.address),
  );
}

/** Lines on what is left to do. */
function notes(state, conflictCount) {
  const hasMore = state.has_changes || state.to_send > 0;
  return [
    h("p", { class: "calm" }, icon(hasMore ? "time" : "check"), hasMore ? t("not_told_yet") : t("all_is_told")),
    state.purges.length === 0 && h("p", { class: "calm" }, icon("check"), t("every_purge_is_confirmed")),
    state.purges.map((purge) =>
      h(
        "p",
        { class: "row" },
        h("span", { class: "chip bad" }, t("n_purged", { n: purge.memories })),
        t("not_confirmed_by", { names: purge.waiting_for.join(", ") }),
        h("span", { class: "small soft" }, moment(purge.at)),
      ),
    ),
    state.kept_here > 0 && h("p", {}, t("n_stay_here", { n: state.kept_here })),
    state.kept_out > 0 && h("p", {}, t("n_stay_out", { n: state.kept_out })),
    conflictCount > 0 && h("p", {}, h("a", { href: "#/garden" }, t("n_conflicts", { n: conflictCount }))),
  ];
}

function table(devices) {
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, t("devices")),
    h("thead", {}, h("tr", {}, [t("name"), t("state"), t("last_told")].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, devices.map(row)),
  );
}

function row(device) {
  const kind = device.is_removed ? "removed" : device.is_this ? "this" : device.kind;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, device.label || named("device", device.kind), h("p", { class: "small soft mono" }, device.id)),
    h("td", {}, named("device", kind)),
    h("td", { title: moment(device.last_seen) }, device.last_seen ? ago(device.last_seen) : t("nothing_told_yet")),
  );
}
