import type { TypedData } from './coreTypes.ts';

/** The value that a function returned, as the host sees it after the wire: plain JSON, text, bytes or a number. */
export function fromTypedData(data: TypedData | null | undefined): unknown {
  if (data === null || data === undefined) return undefined;
  if (data.json !== undefined) return JSON.parse(data.json);
  return data.string ?? data.bytes ?? data.int ?? data.double;
}

/** Text goes as it is (the programming model parses it where it is JSON), everything else as JSON. */
export function toTypedData(value: unknown): TypedData {
  return typeof value === 'string' ? { string: value } : { json: JSON.stringify(value ?? null) };
}

/** The UTF-8 text of `bytes` for the programming model, or the bytes themselves where a function asks for those. */
export function bodyData(bytes: Uint8Array, dataType: 'string' | 'binary'): TypedData {
  return dataType === 'binary'
    ? { bytes }
    : { string: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() };
}
