// Run where the package `ai` is installed, against a real server: ENGRAMS_URL=… node --test test/ai-sdk.test.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { engramsMiddleware } from "../src/ai-sdk.js"
import { EngramsClient } from "../src/client.js"

const url = process.env.ENGRAMS_URL ?? "http://127.0.0.1:8100"
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finishReason = { unified: "stop", raw: "stop" }

function scripted(answer) {
  const chunks = [
    { type: "text-start", id: "1" },
    ...answer.split(/(?= )/).map((delta) => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish", finishReason, usage },
  ]
  return new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text: answer }], finishReason, usage, warnings: [] }),
    doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
  })
}

const promptOf = (calls) => JSON.stringify(calls[0].prompt)

test("a prompt is stored, and a later one is given what it needs", async () => {
  const memory = new EngramsClient({ url, user: "carla" })
  const first = scripted("Noted, no nuts.")
  const model = wrapLanguageModel({ model: first, middleware: engramsMiddleware(memory, { session: "s1" }) })
  assert.equal((await generateText({ model, prompt: "I am allergic to nuts." })).text, "Noted, no nuts.")
  assert.equal(promptOf(first.doGenerateCalls).includes("recalled"), false)

  const second = scripted("To nuts.")
  const later = wrapLanguageModel({ model: second, middleware: engramsMiddleware(memory, { session: "s2" }) })
  const result = streamText({ model: later, prompt: "What am I allergic to?" })
  let told = ""
  for await (const piece of result.textStream) told += piece
  assert.equal(told, "To nuts.")
  assert.match(promptOf(second.doStreamCalls), /allergic to nuts/)
  const { hits } = await memory.search("allergic to nuts", { limit: 20 })
  const said = hits.map((hit) => `${hit.memory.role}: ${hit.memory.text}`)
  assert.ok(said.includes("assistant: Noted, no nuts."), said.join("\n"))
  assert.equal(said.filter((line) => line === "user: I am allergic to nuts.").length, 1)
})

test("a memory that is away fails no request", async () => {
  const faults = []
  const gone = new EngramsClient({ url: "http://127.0.0.1:9" })
  const model = wrapLanguageModel({ model: scripted("Hello."), middleware: engramsMiddleware(gone, { onError: (fault) => faults.push(fault) }) })
  assert.equal((await generateText({ model, prompt: "Hi there, how are you?" })).text, "Hello.")
  assert.equal(faults.length, 3)
})
