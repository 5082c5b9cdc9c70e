/** The fields of an NCRONTAB expression, in order. */
const fields = [
  { name: 'second', min: 0, max: 59, names: [] },
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day', min: 1, max: 31, names: [] },
  { name: 'month', min: 1, max: 12, names: monthNames() },
  { name: 'day of week', min: 0, max: 6, names: dayNames() },
] as const satisfies readonly Field[];

interface Field {
  name: string;
  min: number;
  max: number;
  /** Names of the values, from `min` up, in lower case. */
  names: readonly string[];
}

/**
 * Says what is wrong with an NCRONTAB expression. Undefined if the Functions host accepts it: six fields, each a list of
 * values, ranges and `*`, with optional steps; months and days of the week also by name
 * (https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions).
 */
export function ncrontabError(expression: string): string | undefined {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== fields.length) {
    const given = expression.trim() === '' ? 0 : parts.length;
    return `has ${given} ${given === 1 ? 'field' : 'fields'}, not the 6 {second} {minute} {hour} {day} {month} {day of week}`;
  }
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? '';
    const bad = part.split(',').find((item) => !isItem(item, field));
    if (bad !== undefined) {
      return `has "${bad}" as its ${field.name}, not *, ${field.min} to ${field.max}, a range a-b or a step a/n`;
    }
  }
  return undefined;
}

function isItem(item: string, field: Field): boolean {
  const match = /^(?:\*|([a-z\d]+)(?:-([a-z\d]+))?)(?:\/(\d{1,2}))?$/i.exec(item);
  if (match === null) return false;
  const [, from, to, step] = match;
  if (step !== undefined && Number(step) < 1) return false;
  if (from === undefined) return true;
  const first = numberOf(from, field);
  if (first === undefined) return false;
  if (to === undefined) return true;
  const last = numberOf(to, field);
  return last !== undefined && first <= last;
}

function numberOf(text: string, { min, max, names }: Field): number | undefined {
  if (/^\d{1,2}$/.test(text)) {
    const value = Number(text);
    return value >= min && value <= max ? value : undefined;
  }
  const name = text.toLowerCase();
  const index = names.findIndex((full) => full === name || full.slice(0, 3) === name);
  return index === -1 ? undefined : min + index;
}

function monthNames(): string[] {
  return 'january february march april may june july august september october november december'.split(' ');
}

function dayNames(): string[] {
  return 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
}
