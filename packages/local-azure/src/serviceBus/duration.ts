const pattern = /^P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?)$/;

/**
 * Milliseconds in an ISO 8601 duration given as weeks, or as days, hours, minutes and seconds. Undefined if
 * malformed.
 */
export function parseDuration(text: string): number | undefined {
  const match = pattern.exec(text);
  if (match === null || !/\d/.test(text) || text.endsWith('T')) return undefined;
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((digits) => Number(digits ?? 0));
  const inDays = 7 * (weeks ?? 0) + (days ?? 0);
  return Math.round((((inDays * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1000);
}
