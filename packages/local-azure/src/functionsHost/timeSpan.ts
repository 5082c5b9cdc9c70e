const form = /^(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?$/;

/**
 * Parses a .NET time span from host.json into milliseconds: `hh:mm:ss`, optionally with days (`1.00:00:00`)
 * and fractions (`00:00:00.100`). Undefined for anything else.
 */
export function parseTimeSpan(text: string): number | undefined {
  const match = form.exec(text.trim());
  if (match === null) return undefined;
  const [, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = match;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const wholeSeconds = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return wholeSeconds * 1000 + Math.round(Number(`0.${fraction || '0'}`) * 1000);
}
