// Memories that the reader shares with other people: members, and their roles.

import { get, json, post } from "../api.js";
import { confirm, prompt } from "../dialog.js";
import { button, empty, fill, h, head, scrollBox, select } from "../dom.js";
import { day } from "../format.js";
import { t } from "../i18n.js";
import { errorBox } from "../memory.js";
import { withToast } from "../toast.js";

export const title = t("spaces");

const ROLES = ["reader", "editor", "owner"];

export async function show(root) {
  const body = h("div", { class: "stack" });
  const redraw = () => draw(body);
  const create = withToast(async () => {
    const name = await prompt(t("create_a_space"), t("a_space_belongs_to_you_first"), t("name"), { yes: t("create_a_space") });
    if (!name) return;
    await post("/v1/spaces", { name });
    await redraw();
  });
  fill(root, head(t("spaces"), t("memory_of_several_people"), button(t("create_a_space"), create, { icon: "plus", kind: "main-action" })), body);
  await redraw();
}

async function draw(body) {
  try {
    const { spaces } = await get("/v1/spaces");
    const sections = spaces.map((space) => section(space, () => draw(body)));
    fill(body, sections.length ? sections : empty("person", t("in_no_space_yet"), t("what_a_space_is_for")));
  } catch (fault) {
    fill(body, errorBox(fault));
  }
}

/** One space. `redraw`: shows all spaces anew after a change. */
function section(space, redraw) {
  // A `/` would end the segment of the path, also an encoded one: it is encoded twice.
  const memberPath = (user) => `/v1/spaces/${encodeURIComponent(space.name)}/members/${encodeURIComponent(user.replaceAll("/", "%2F"))}`;
  const act = {
    setRole: withToast(async (user, role) => {
      await json("PUT", memberPath(user), { body: { role } }).finally(redraw);
    }),
    remove: withToast(async (user) => {
      if (!(await confirm(t("remove_member"), t("a_removed_member_reads_nothing", { user }), t("remove_member")))) return;
      await json("DELETE", memberPath(user));
      await redraw();
    }),
    add: withToast(async () => {
      const user = await prompt(t("add_a_member"), t("a_new_member_edits"), t("user"), { yes: t("add_a_member") });
      if (!user) return;
      await json("PUT", memberPath(user), { body: { role: "editor" } });
      await redraw();
    }),
  };
  const isOwner = space.role === "owner";
  return h(
    "section",
    { class: "stack tight", "aria-label": space.name },
    h("div", { class: "row" }, h("h2", {}, space.name), h("span", { class: "chip" }, t(`space_role.${space.role}`))),
    scrollBox(t("members_of", { space: space.name }), table(space, isOwner, act)),
    isOwner && h("div", { class: "row" }, button(t("add_a_member"), act.add, { icon: "plus" })),
  );
}

function table(space, isOwner, act) {
  const columns = [t("member"), t("role"), t("since")];
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, t("members_of", { space: space.name })),
    h("thead", {}, h("tr", {}, [...columns.map((name) => h("th", { scope: "col" }, name)), isOwner && h("td", {})])),
    h("tbody", {}, space.members.map((member) => row(member, isOwner, act))),
  );
}

function row(member, isOwner, act) {
  const choices = ROLES.map((role) => [role, t(`space_role.${role}`)]);
  const label = t("role_of", { user: member.user });
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, member.user),
    h("td", {}, isOwner ? select(label, choices, member.role, (role) => act.setRole(member.owner, role)) : t(`space_role.${member.role}`)),
    h("td", {}, day(member.since)),
    isOwner && h("td", {}, button("", () => act.remove(member.owner), { icon: "trash", kind: "plain", label: t("remove_user", { user: member.user }) })),
  );
}
