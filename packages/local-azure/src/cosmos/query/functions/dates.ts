import { NOW } from '../compile/compilation.ts';
import { type FunctionTable, inline, scalar } from './definition.ts';

/*
 * Date functions on the service's format, `YYYY-MM-DDThh:mm:ss.fffffffZ` (seven digits, always UTC), computed
 * in ticks of 100 ns since 1970. See https://learn.microsoft.com/azure/cosmos-db/nosql/query/datetimeadd and
 * its sibling pages.
 */

const TICKS_PER_MS = 10_000n;
/** GetCurrentTicks and similar functions count from the year 1. */
const TICKS_BEFORE_1970 = 621_355_968_000_000_000n;

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,7}))?Z?)?$/;

function parse(text: string): bigint | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match;
  const parts = [year, month, day, hour, minute, second].map(Number);
  return fromParts(parts, BigInt(fraction.padEnd(7, '0')));
}

function fromParts(parts: number[], fraction: bigint): bigint | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (hour > 23 || minute > 59 || second > 59 || year < 1) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute, second);
  return BigInt(date.getTime()) * TICKS_PER_MS + fraction;
}

function format(ticks: bigint): string | undefined {
  const fraction = floorMod(ticks, 10_000_000n);
  const date = new Date(Number((ticks - fraction) / TICKS_PER_MS));
  const year = date.getUTCFullYear();
  if (Number.isNaN(year) || year < 1 || year > 9999) return undefined;
  return `${date.toISOString().slice(0, 19)}.${String(fraction).padStart(7, '0')}Z`;
}

function floorMod(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

function floorDiv(value: bigint, by: bigint): bigint {
  return (value - floorMod(value, by)) / by;
}

type Part =
  | 'year'
  | 'month'
  | 'day'
  | 'hour'
  | 'minute'
  | 'second'
  | 'millisecond'
  | 'microsecond'
  | 'nanosecond';

const PARTS: Record<string, Part> = Object.fromEntries(
  (
    [
      ['year', 'year yyyy yy'],
      ['month', 'month mm m'],
      ['day', 'day dd d'],
      ['hour', 'hour hh'],
      ['minute', 'minute mi n'],
      ['second', 'second ss s'],
      ['millisecond', 'millisecond ms'],
      ['microsecond', 'microsecond mcs'],
      ['nanosecond', 'nanosecond ns'],
    ] as const
  ).flatMap(([part, names]) => names.split(' ').map((name) => [name, part])),
);

const TICKS: Record<Exclude<Part, 'year' | 'month' | 'nanosecond'>, bigint> = {
  day: 864_000_000_000n,
  hour: 36_000_000_000n,
  minute: 600_000_000n,
  second: 10_000_000n,
  millisecond: TICKS_PER_MS,
  microsecond: 10n,
};

function monthsOf(ticks: bigint): number {
  const date = new Date(Number(floorDiv(ticks, TICKS_PER_MS)));
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function add(part: Part, count: number, ticks: bigint): bigint | undefined {
  if (!Number.isInteger(count)) return undefined;
  if (part === 'nanosecond') return ticks + BigInt(Math.trunc(count / 100));
  if (part !== 'year' && part !== 'month') return ticks + BigInt(count) * TICKS[part];
  const months = monthsOf(ticks) + (part === 'year' ? count * 12 : count);
  const date = new Date(Number(floorDiv(ticks, TICKS_PER_MS)));
  const lastDay = new Date(Date.UTC(Math.floor(months / 12), (months % 12) + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const midnight = fromParts([Math.floor(months / 12), (months % 12) + 1, day], 0n);
  return midnight === undefined ? undefined : midnight + floorMod(ticks, TICKS.day);
}

/** The number of boundaries of the part between the two. */
function difference(part: Part, start: bigint, end: bigint): number {
  if (part === 'month') return monthsOf(end) - monthsOf(start);
  if (part === 'year') return Math.floor(monthsOf(end) / 12) - Math.floor(monthsOf(start) / 12);
  if (part === 'nanosecond') return Number((end - start) * 100n);
  return Number(floorDiv(end, TICKS[part]) - floorDiv(start, TICKS[part]));
}

function partOf(part: Part, ticks: bigint): number {
  const date = new Date(Number(floorDiv(ticks, TICKS_PER_MS)));
  const fraction = floorMod(ticks, TICKS.second);
  switch (part) {
    case 'year':
      return date.getUTCFullYear();
    case 'month':
      return date.getUTCMonth() + 1;
    case 'day':
      return date.getUTCDate();
    case 'hour':
      return date.getUTCHours();
    case 'minute':
      return date.getUTCMinutes();
    case 'second':
      return date.getUTCSeconds();
    case 'millisecond':
      return Number(fraction / TICKS_PER_MS);
    case 'microsecond':
      return Number(fraction / 10n);
    case 'nanosecond':
      return Number(fraction * 100n);
  }
}

function partNamed(name: string): Part | undefined {
  return PARTS[name.toLowerCase()];
}

const fromMs = (ms: number) => (Number.isInteger(ms) ? format(BigInt(ms) * TICKS_PER_MS) : undefined);
const toTimestamp = (text: string) => {
  const ticks = parse(text);
  return ticks === undefined ? undefined : Number(floorDiv(ticks, TICKS_PER_MS));
};

const nowMs = `CAST(round(${NOW} * 1000) AS INTEGER)`;
const nowText = inline(0, 0, () => ({ kind: 'string', sql: `cosmos_timestamptodatetime(${nowMs})` }));
const nowTimestamp = inline(0, 0, () => ({ kind: 'number', sql: nowMs }));
const nowTicks = inline(0, 0, () => ({
  kind: 'number',
  sql: `(${nowMs} * 10000.0 + ${TICKS_BEFORE_1970}.0)`,
}));

export const dateFunctions: FunctionTable = {
  GETCURRENTDATETIME: nowText,
  GETCURRENTDATETIMESTATIC: nowText,
  GETCURRENTTIMESTAMP: nowTimestamp,
  GETCURRENTTIMESTAMPSTATIC: nowTimestamp,
  GETCURRENTTICKS: nowTicks,
  GETCURRENTTICKSSTATIC: nowTicks,
  TIMESTAMPTODATETIME: scalar(['number'], 'string', fromMs),
  DATETIMETOTIMESTAMP: scalar(['string'], 'number', toTimestamp),
  DATETIMETOTICKS: scalar(['string'], 'number', (text) => {
    const ticks = parse(text);
    return ticks === undefined ? undefined : Number(ticks + TICKS_BEFORE_1970);
  }),
  TICKSTODATETIME: scalar(['number'], 'string', (ticks) =>
    Number.isInteger(ticks) ? format(BigInt(ticks) - TICKS_BEFORE_1970) : undefined,
  ),
  DATETIMEADD: scalar(['string', 'number', 'string'], 'string', (name, count, text) => {
    const [part, ticks] = [partNamed(name), parse(text)];
    if (part === undefined || ticks === undefined) return undefined;
    const sum = add(part, count, ticks);
    return sum === undefined ? undefined : format(sum);
  }),
  DATETIMEDIFF: scalar(['string', 'string', 'string'], 'number', (name, from, to) => {
    const [part, start, end] = [partNamed(name), parse(from), parse(to)];
    if (part === undefined || start === undefined || end === undefined) return undefined;
    return difference(part, start, end);
  }),
  DATETIMEPART: scalar(['string', 'string'], 'number', (name, text) => {
    const [part, ticks] = [partNamed(name), parse(text)];
    return part === undefined || ticks === undefined ? undefined : partOf(part, ticks);
  }),
  DATETIMEFROMPARTS: scalar(
    ['number', 'number', 'number', 'number', 'number', 'number', 'number'],
    'string',
    (year, month, day, hour, minute, second, fraction) => {
      const parts = [year, month, day, hour ?? 0, minute ?? 0, second ?? 0];
      if (![...parts, fraction ?? 0].every(Number.isInteger)) return undefined;
      const ticks = fromParts(parts, BigInt(fraction ?? 0));
      return ticks === undefined ? undefined : format(ticks);
    },
    3,
  ),
};
