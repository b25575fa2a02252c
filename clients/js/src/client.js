/** An answer of the server that is no success, or none within the time limit (`status` 0). */
export class EngramsError extends Error {
  constructor(message, { status = 0, type = "", hint = "", cause } = {}) {
    super(message, { cause })
    this.name = "EngramsError"
    this.status = status
    this.type = type
    this.hint = hint
  }
}

/** Memory of one person, or of a part of it, at a running `engrams serve`. Needs nothing but fetch. */
export class EngramsClient {
  #options
  #url
  #headers

  constructor(options = {}) {
    this.#options = { url: "http://127.0.0.1:8100", timeout: 10_000, fetch: globalThis.fetch, ...options }
    const { url, key, user } = this.#options
    this.#url = url.replace(/\/+$/, "")
    this.#headers = { "content-type": "application/json" }
    if (key) this.#headers.authorization = `Bearer ${key}`
    if (user) this.#headers["x-engrams-user"] = encodeURIComponent(user)
  }

  /** The same client for another part of memory: `within({ project, conversation })`. */
  within(place) {
    return new EngramsClient({ ...this.#options, ...place })
  }

  /** Stores one statement (a text), or the messages of a conversation (a list); what it returned is found by the next search. */
  async add(what, options = {}) {
    const body = typeof what === "string" ? { text: what } : { messages: what }
    return (await this.#post("/v1/memories", { ...body, ...options })).results
  }

  /** Finds memories, best first. `abstain`: nothing was near. */
  search(query, options = {}) {
    return this.#post("/v1/search", { query, ...options })
  }

  /** Builds text of memory for a prompt, within `tokens`. */
  context(query, options = {}) {
    return this.#post("/v1/context", { query, ...options })
  }

  async #post(path, body) {
    const { project, conversation, timeout, fetch } = this.#options
    const place = new URLSearchParams(Object.entries({ project, conversation }).filter(([, value]) => value))
    const request = { method: "POST", headers: this.#headers, body: JSON.stringify(body), signal: AbortSignal.timeout(timeout) }
    let answer
    let told
    try {
      answer = await fetch(`${this.#url}${path}${place.size ? `?${place}` : ""}`, request)
      told = await answer.text()
    } catch (cause) {
      throw new EngramsError(`No answer from ${this.#url}: ${cause.message}`, { cause, hint: "Is `engrams serve` running there?" })
    }
    if (answer.ok) return JSON.parse(told)
    throw asError(answer.status, told)
  }
}

function asError(status, told) {
  try {
    const { title, detail, hint } = JSON.parse(told)
    return new EngramsError(detail, { status, type: title, hint })
  } catch {
    return new EngramsError(`The server answered ${status}.`, { status })
  }
}
