/** The bytes of a request as they arrive. */
export interface BodyChunks {
  /** Undefined at the end. `cutOff`: the sender is gone. `late`: the time for reading is up. */
  next(): Promise<Uint8Array | 'cutOff' | 'late' | undefined>;
  /** Reads to the end and keeps nothing: a caller that is still sending might not read an answer that comes before. */
  discard(mostBytes: number): Promise<void>;
}

/** Reads a body until `signal` aborts. A request without a body has an empty one. */
export function bodyChunks(
  body: AsyncIterable<Uint8Array> | null | undefined,
  signal: AbortSignal,
): BodyChunks {
  const chunks = body?.[Symbol.asyncIterator]();
  const late = new Promise<'late'>((resolve) => {
    if (signal.aborted) resolve('late');
    signal.addEventListener('abort', () => resolve('late'), { once: true });
  });

  function next() {
    if (chunks === undefined) return Promise.resolve(undefined);
    const read = chunks.next().then(
      (result) => (result.done === true ? undefined : result.value),
      () => 'cutOff' as const,
    );
    return Promise.race([read, late]);
  }

  return {
    next,
    async discard(mostBytes) {
      for (let bytes = 0; bytes <= mostBytes; ) {
        const chunk = await next();
        if (!(chunk instanceof Uint8Array)) return;
        bytes += chunk.byteLength;
      }
    },
  };
}

/** The part of an HTTP request that has its body; the request of Azure Functions has that shape. */
export interface RequestBody {
  readonly headers: { get(name: string): string | null };
  readonly body?: AsyncIterable<Uint8Array> | null;
}

/** Milliseconds for the body of a small request to arrive. */
const smallBodyMs = 30_000;
/** What is read and dropped of a body that is too large. The platform takes 100 MB. */
export const mostDiscarded = 104_857_600;

/** A body that is looked at as a whole. */
export async function smallBody(
  request: RequestBody,
  mostBytes: number,
): Promise<Buffer | 'tooLarge' | 'cutOff' | 'late'> {
  const body = bodyChunks(request.body, AbortSignal.timeout(smallBodyMs));
  const chunks: Uint8Array[] = [];
  let size = Number(request.headers.get('content-length') ?? 0) > mostBytes ? mostBytes + 1 : 0;
  while (size <= mostBytes) {
    const chunk = await body.next();
    if (chunk === undefined) return Buffer.concat(chunks);
    if (typeof chunk === 'string') return chunk;
    chunks.push(chunk);
    size += chunk.byteLength;
  }
  await body.discard(mostDiscarded);
  return 'tooLarge';
}

/** Reads a body to its end and keeps nothing of it. */
export function dropBody({ body }: Pick<RequestBody, 'body'>): Promise<void> {
  return bodyChunks(body, AbortSignal.timeout(smallBodyMs)).discard(mostDiscarded);
}
