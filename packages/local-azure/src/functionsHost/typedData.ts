import type { TypedData } from './coreTypes.ts';

/** The value a function returned, as the host sees it after the wire: plain JSON, text, bytes or a number. */
export function fromTypedData(data: TypedData | null | undefined): unknown {
  if (data === null || data === undefined) return undefined;
  if (data.json !== undefined) return JSON.parse(data.json);
  return data.string ?? data.bytes ?? data.int ?? data.double;
}

/** Passes text unchanged (the programming model parses it if it is JSON), everything else as JSON. */
export function toTypedData(value: unknown): TypedData {
  return typeof value === 'string' ? { string: value } : { json: JSON.stringify(value ?? null) };
}

/** `bytes` as UTF-8 text for the programming model, or unchanged if the function asks for `binary`. */
export function bodyData(bytes: Uint8Array, dataType: 'string' | 'binary'): TypedData {
  return dataType === 'binary'
    ? { bytes }
    : { string: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() };
}
