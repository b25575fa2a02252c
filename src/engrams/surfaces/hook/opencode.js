// Memory for opencode. Made by `engrams install opencode`; `engrams install opencode --undo` removes it.
import { spawn } from "node:child_process"

const COMMAND = ["engrams", "hook"]
const MILLISECONDS = 8000

/** Sends an event to the hook; resolves to the recalled text, empty for none. Never rejects: the agent goes on without memory. */
function ask(event) {
  return new Promise((resolve) => {
    let told = ""
    const hook = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], timeout: MILLISECONDS })
    hook.on("error", () => resolve(""))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (piece) => (told += piece))
    hook.on("close", () => {
      try {
        resolve(JSON.parse(told).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    hook.stdin.end(JSON.stringify(event))
  })
}

const spoken = (parts) =>
  (parts ?? [])
    .filter((part) => part.type === "text" && !part.synthetic && part.text)
    .map((part) => part.text)
    .join("\n")

export const EngramsMemory = async ({ client, directory }) => {
  const profiles = new Map()
  const parents = new Map()
  const send = (name, session, more = {}) => ask({ hook_event_name: name, session_id: session, cwd: directory, ...more })

  /** True for the session of a subagent: its prompts were written by an agent, not by the user. */
  const isSide = async (session) => {
    if (!parents.has(session)) {
      try {
        const { data } = await client.session.get({ path: { id: session } })
        parents.set(session, Boolean(data?.parentID))
      } catch {
        return false
      }
    }
    return parents.get(session)
  }

  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      if (await isSide(sessionID)) return
      if (!profiles.has(sessionID)) profiles.set(sessionID, await send("SessionStart", sessionID))
      const text = await send("UserPromptSubmit", sessionID, { prompt: spoken(parts) })
      const last = parts.at(-1)
      // A part of the message, not of the system prompt: what is before it stays in the prompt cache.
      if (text && last) parts.push({ ...last, id: `${last.id}e`, type: "text", text, synthetic: true })
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      if (profiles.get(sessionID)) system.push(profiles.get(sessionID))
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (!session || (await isSide(session))) return
      if (event.type === "session.idle") {
        const { data } = await client.session.messages({ path: { id: session } })
        const last = (data ?? []).findLast((message) => message.info.role === "assistant" && !message.info.summary)
        if (last) await send("Stop", session, { last_assistant_message: spoken(last.parts) })
      } else if (event.type === "session.deleted") {
        profiles.delete(session)
        parents.delete(session)
        await send("SessionEnd", session)
      }
    },
  }
}
