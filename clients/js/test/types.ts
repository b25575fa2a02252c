// Checked by tsc where `ai` and `typescript` are installed.
import { EngramsClient, EngramsError, type SearchResponse } from "../src/client.js"
import { engramsMiddleware } from "../src/ai-sdk.js"
import { wrapLanguageModel } from "ai"
import { MockLanguageModelV4 } from "ai/test"
const memory = new EngramsClient({ user: "ann" }).within({ project: "x" })
const found: SearchResponse = await memory.search("x", { limit: 1, kinds: ["fact"] })
const score: number = found.hits[0]!.score
await memory.add("x", { tags: ["a"] })
await memory.add([{ content: "x", role: "user" }], { session: "s" })
// @ts-expect-error a limit is a number
await memory.search("x", { limit: "1" })
wrapLanguageModel({ model: new MockLanguageModelV4(), middleware: engramsMiddleware(memory) })
export { score, EngramsError }
