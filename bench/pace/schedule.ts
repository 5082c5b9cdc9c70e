const minuteMs = 60_000;

/** The default schedule of the job, every five minutes, moved so that its next tick is at `tick`. Pure. */
export function everyFiveMinutesFrom(tick: Date): string {
  return `${tick.getUTCSeconds()} ${tick.getUTCMinutes() % 5}/5 * * * *`;
}

/** The next whole second at least `waitMs` from `now` (epoch milliseconds). Pure. */
export function tickAfter(now: number, waitMs: number): Date {
  return new Date(Math.ceil((now + Math.min(waitMs, 4 * minuteMs)) / 1000) * 1000);
}
