import { randomUUID } from 'node:crypto';

const msPerDay = 86_400_000;

/** The id of a new import: its day (UTC), the milliseconds of the day, and something random. */
export function newImportId(now: number): string {
  const day = new Date(now).toISOString().slice(0, 10);
  const ms = String(now % msPerDay).padStart(8, '0');
  return `${day}-${ms}-${randomUUID().slice(0, 8)}`;
}

const shape = /^(\d{4}-\d{2}-\d{2})-(\d{8})-([0-9a-f]{8})$/;

/** The name of an import's blob: in a listing by name the newest of a day comes first. Undefined: no import has this id. */
export function blobNameOf(importId: string): string | undefined {
  const [, day, ms, random] = shape.exec(importId) ?? [];
  return day === undefined ? undefined : `${day}/${reversed(ms)}-${random}`;
}

/** The id of the import whose blob has this name; undefined if it is not the name of one. */
export function importIdOf(blobName: string): string | undefined {
  const [, day, ms, random] = shape.exec(blobName.replace('/', '-')) ?? [];
  return day === undefined ? undefined : `${day}-${reversed(ms)}-${random}`;
}

function reversed(ms = '0'): string {
  return String(msPerDay - Number(ms)).padStart(8, '0');
}
