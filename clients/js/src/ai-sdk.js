const MAX_RECALLED = 100

/**
 * Middleware for the Vercel AI SDK: `wrapLanguageModel({ model, middleware: engramsMiddleware(client) })`.
 *
 * What the last user message needs is put before it, in the request only; the message and the final answer are stored. A failing memory
 * never fails the request: `onError` is told.
 */
export function engramsMiddleware(client, { tokens, session, store = true, onError = (error) => console.warn(error) } = {}) {
  const recalled = new Map()

  const attempt = async (action) => {
    try {
      return await action()
    } catch (error) {
      onError(error)
    }
  }

  const keep = (role, content) =>
    store && content.trim() ? attempt(() => client.add([{ role, content }], session ? { session } : {})) : undefined

  async function recall(text) {
    if (!recalled.has(text)) {
      const found = await attempt(() => client.context(text, tokens === undefined ? {} : { tokens }))
      if (recalled.size >= MAX_RECALLED) recalled.delete(recalled.keys().next().value)
      if (found) recalled.set(text, found.text)
    }
    return recalled.get(text)
  }

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const at = params.prompt.findLastIndex((message) => message.role === "user")
      const text = at < 0 ? "" : textOf(params.prompt[at].content)
      if (!text) return params
      const isNew = at === params.prompt.length - 1
      // A new question recalls anew; the steps of a tool loop begin alike, so that the model's cache holds.
      if (isNew) recalled.delete(text)
      const memory = await recall(text)
      if (isNew) await keep("user", text)
      if (!memory) return params
      const message = params.prompt[at]
      const told = { ...message, content: [{ type: "text", text: `${memory}\n\n` }, ...message.content] }
      return { ...params, prompt: params.prompt.with(at, told) }
    },

    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate()
      if (!isToolCall(result.finishReason)) await keep("assistant", textOf(result.content))
      return result
    },

    async wrapStream({ doStream }) {
      const result = await doStream()
      let answer = ""
      const listen = new TransformStream({
        async transform(part, controller) {
          if (part.type === "text-delta") answer += part.delta
          controller.enqueue(part)
          if (part.type === "finish" && !isToolCall(part.finishReason)) await keep("assistant", answer)
        },
      })
      return { ...result, stream: result.stream.pipeThrough(listen) }
    },
  }
}

const textOf = (content) =>
  content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n")
    .trim()

const isToolCall = (reason) => (reason?.unified ?? reason) === "tool-calls"
