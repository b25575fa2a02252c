import type { MemoryAddRequest, ContextRequest, ContextResponse, AddedMessage, WriteReceiptResponse, SearchRequest, SearchResponse } from "./api.js"

export type * from "./api.js"

export interface ClientOptions {
  /** Where `engrams serve` listens; http://127.0.0.1:8100 if left out. */
  url?: string
  /** A key of `engrams keys add`; not needed on this machine. */
  key?: string
  /** Whose memory; the key's owner, or the server's own user, if left out. */
  user?: string
  project?: string
  conversation?: string
  /** Milliseconds to wait for an answer; 10,000 if left out. */
  timeout?: number
  fetch?: typeof globalThis.fetch
}

export declare class EngramsError extends Error {
  /** The HTTP status; 0 without an answer. */
  readonly status: number
  readonly type: string
  /** What to do about it. */
  readonly hint: string
}

export declare class EngramsClient {
  constructor(options?: ClientOptions)
  within(place: Pick<ClientOptions, "project" | "conversation" | "user">): EngramsClient
  add(text: string, options?: Omit<MemoryAddRequest, "text" | "messages">): Promise<WriteReceiptResponse[]>
  add(messages: AddedMessage[], options?: Pick<MemoryAddRequest, "session">): Promise<WriteReceiptResponse[]>
  search(query: string, options?: Omit<SearchRequest, "query">): Promise<SearchResponse>
  context(query: string, options?: Omit<ContextRequest, "query">): Promise<ContextResponse>
}
