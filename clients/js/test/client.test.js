// Run against a real server: ENGRAMS_URL=http://127.0.0.1:8100 node --test test/client.test.js
import assert from "node:assert/strict"
import { test } from "node:test"
import { EngramsClient, EngramsError } from "../src/client.js"

const url = process.env.ENGRAMS_URL ?? "http://127.0.0.1:8100"
const memory = new EngramsClient({ url: `${url}/`, user: "ann" })

test("what was added is found and rendered", async () => {
  const [receipt] = await memory.add("The spare key is under the blue flowerpot.", { tags: ["house"] })
  assert.equal(receipt.outcome, "stored")
  const { hits, abstain } = await memory.search("Where is the spare key?", { limit: 1 })
  assert.equal(abstain, false)
  assert.equal(hits[0].memory.id, receipt.id)
  assert.match((await memory.context("Where is the spare key?", { tokens: 200 })).text, /blue flowerpot/)
})

test("messages are stored once by their id", async () => {
  const said = [{ role: "user", content: "I moved to Oslo.", external_id: "m1" }]
  assert.equal((await memory.add(said, { session: "monday" }))[0].outcome, "stored")
  assert.equal((await memory.add(said, { session: "monday" }))[0].outcome, "duplicate")
})

test("people and projects are apart", async () => {
  const bob = new EngramsClient({ url, user: "bob" })
  assert.deepEqual((await bob.search("spare key")).hits, [])
  await bob.within({ project: "boat" }).add("The boat needs paint.")
  assert.equal((await bob.within({ project: "boat" }).search("Which boat needs paint?")).hits.length > 0, true)
  assert.deepEqual((await bob.within({ project: "shed" }).search("Which boat needs paint?")).hits, [])
  await new EngramsClient({ url, user: "Žofie/ü" }).add("I keep bees.")
})

test("errors say what to do", async () => {
  await assert.rejects(memory.add([]), (error) => error instanceof EngramsError && error.status === 422 && error.message !== "")
  await assert.rejects(new EngramsClient({ url, key: "engrams_wrong" }).search("x"), { status: 401 })
  await assert.rejects(new EngramsClient({ url: "http://127.0.0.1:9" }).search("x"), { status: 0, hint: /engrams serve/ })
  const never = () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 50))
  await assert.rejects(new EngramsClient({ url, fetch: never }).search("x"), /late/)
})
