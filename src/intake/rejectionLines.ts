import { z } from 'zod';
import { BadContinuation, placeOf } from '../documents/pages.ts';
import type { Rejection } from './checkInvoice.ts';

const newLine = 10;
const rejectionSchema = z.object({ index: z.number(), field: z.string(), error: z.string() });

/** Where a page of lines begins in a text of `size` bytes. @throws {BadContinuation} */
export function offsetOf(continuation: string, size: number): number {
  return placeOf(z.int().min(0).max(size), continuation);
}

/** Bytes behind a line end. @throws {BadContinuation} they begin with something else */
export function afterLineEnd(bytes: Buffer): Buffer {
  if (bytes[0] !== newLine) throw new BadContinuation('not the beginning of a line');
  return bytes.subarray(1);
}

/** The rejections of the first lines that are there in full, and the bytes they take. */
export function wholeLines(bytes: Buffer, most: number): { items: Rejection[]; length: number } {
  const items: Rejection[] = [];
  let length = 0;
  while (items.length < most) {
    const end = bytes.indexOf(newLine, length);
    if (end === -1) break;
    items.push(rejectionSchema.parse(JSON.parse(bytes.toString('utf8', length, end))));
    length = end + 1;
  }
  return { items, length };
}
