/** The part of an HTTP request that the calls under `ops/` need; the request of Azure Functions has that shape. */
export interface OpsRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Iterable<[string, string]>;
  readonly headers: { get(name: string): string | null };
  readonly body?: AsyncIterable<Uint8Array> | null;
}

/** An answer with a JSON body, or with text as its body. */
export interface OpsResponse<Json = unknown> {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  jsonBody?: Json;
}
