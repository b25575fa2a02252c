import type { LanguageModelV4Middleware } from "@ai-sdk/provider"
import type { EngramsClient } from "./client.js"

export interface MiddlewareOptions {
  /** Tokens of the recalled text at most; `read.context_tokens` of the server if left out. */
  tokens?: number
  /** The conversation that messages belong to. */
  session?: string
  /** Store messages and answers; true if left out. */
  store?: boolean
  onError?: (error: unknown) => void
}

export declare function engramsMiddleware(client: EngramsClient, options?: MiddlewareOptions): LanguageModelV4Middleware
