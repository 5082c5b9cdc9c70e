import type { TypedData } from '../coreTypes.ts';

/** One message for a queue. */
export interface OutputMessage {
  bytes: Buffer;
  contentType: 'text/plain' | 'application/json' | 'application/octet-stream';
}

/**
 * The messages that a value stands for, as on the real host: none for undefined and null, one for each element of an array,
 * otherwise one. Text goes as it is, anything else as JSON.
 */
export function outputMessages(data: TypedData | null | undefined): OutputMessage[] {
  if (data === null || data === undefined) return [];
  if (data.bytes !== undefined)
    return [{ bytes: Buffer.from(data.bytes), contentType: 'application/octet-stream' }];
  if (data.string !== undefined) return [text(data.string)];
  const value: unknown = data.json === undefined ? (data.int ?? data.double) : JSON.parse(data.json);
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map((each: unknown) =>
    typeof each === 'string'
      ? text(each)
      : { bytes: Buffer.from(JSON.stringify(each)), contentType: 'application/json' },
  );
}

function text(value: string): OutputMessage {
  return { bytes: Buffer.from(value), contentType: 'text/plain' };
}
