import type { Charge } from '../../local/start/figures.ts';

/** Milliseconds within which payments must go on after the server of the locks has come back without its data. */
const mostMs = 60_000;

/**
 * Computes the time from each of these moments (epoch ms) until the next charge (ms); undefined if nothing
 * was charged any more. Pure.
 */
export function pausesAfter(
  moments: readonly number[],
  charges: readonly Pick<Charge, 'createdAt'>[],
): (number | undefined)[] {
  const charged = charges
    .flatMap(({ createdAt }) => (createdAt === undefined ? [] : [Date.parse(createdAt)]))
    .toSorted((one, other) => one - other);
  return moments.map((moment) => {
    const next = charged.find((at) => at >= moment);
    return next === undefined ? undefined : next - moment;
  });
}

/** Payments that went on too late, in words. Nothing paid any more is judged by what is left open. */
export function tooLong(pauses: readonly (number | undefined)[]): string[] {
  return pauses.flatMap((ms) =>
    ms !== undefined && ms > mostMs ? [`payments went on ${ms} ms after the locks were back`] : [],
  );
}

export function pausesLine(pauses: readonly (number | undefined)[]): string {
  const known = pauses.filter((ms) => ms !== undefined);
  const longest = known.length === 0 ? 'none' : `${(Math.max(...known) / 1000).toFixed(1)} s at most`;
  return `Locks       gone ${pauses.length} times; until the next payment: ${longest}`;
}
