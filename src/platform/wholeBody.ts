/**
 * The part of an HTTP request that has its body; the request of Azure Functions has that shape. HTTP streams are off, so the
 * host has received all of it before the function begins (docs/imports.md).
 */
export interface RequestBody {
  readonly headers: { get(name: string): string | null };
  readonly body?: AsyncIterable<Uint8Array> | null;
}

/** The body of a request; undefined if it has more bytes than this. */
export async function wholeBody({ body }: RequestBody, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  const [first] = chunks;
  // The usual case, and a copy less.
  if (first !== undefined && chunks.length === 1) return Buffer.from(first.buffer, first.byteOffset, size);
  return Buffer.concat(chunks);
}
