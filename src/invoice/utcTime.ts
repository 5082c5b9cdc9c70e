const first = '1970-01-01T00:00:00.000Z';

/**
 * An ISO 8601 time with any offset, in UTC with milliseconds: such times compare as text, as long as years have four
 * digits. Undefined for a time before 1970 or after 9999, and for what is no time.
 */
export function utcTime(given: string): string | undefined {
  const time = new Date(given);
  const utc = Number.isNaN(time.getTime()) ? '' : time.toISOString();
  return utc >= first && /^\d/.test(utc) ? utc : undefined;
}
