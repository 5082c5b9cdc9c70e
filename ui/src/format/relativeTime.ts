const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `3 d ago`, `in 20 s`, `now`: how far a time is from `now`, both in milliseconds. Pure. */
export function relativeTime(time: number, now: number): string {
  const seconds = Math.round(Math.abs(time - now) / 1000);
  const [unit, size] = units.find(([, least]) => seconds >= least) ?? ['s', 1];
  if (seconds < 1) return 'now';
  const text = `${Math.floor(seconds / size)} ${unit}`;
  return time > now ? `in ${text}` : `${text} ago`;
}

/** `8 s`, `2 min`, `3 h 20 min`. Pure. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.round(whole / 60)} min`;
  const hours = Math.floor(whole / 3_600);
  const minutes = Math.round((whole % 3_600) / 60);
  if (hours >= 48) return `${Math.round(whole / 86_400)} d`;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
}

/** `31 Jan, 14:02`, with the year if it is not that of `now` (ms): in the reader's own time zone. */
export function localTime(iso: string, now: number): string {
  const time = new Date(iso);
  const isThisYear = time.getFullYear() === new Date(now).getFullYear();
  return time.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(isThisYear ? {} : { year: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
  });
}

/** `2026-01-31 14:02:11 UTC`. Pure. */
export function exactTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}
