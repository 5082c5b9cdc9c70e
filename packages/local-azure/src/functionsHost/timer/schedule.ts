import { Cron } from 'croner';
import { HostStartError } from '../hostStartError.ts';

/** When a timer is due, in UTC. */
export interface Schedule {
  /** The first occurrence after `after`; undefined if there is none. Milliseconds since the epoch. */
  next(after: number): number | undefined;
}

/** One part of a field: `*`, a number or name, or a range of them, each with an optional step. */
const part = /^(\*|[a-z]{3}|\d+)(-([a-z]{3}|\d+))?(\/\d+)?$/i;

/**
 * Parses an NCRONTAB expression: six fields, seconds first, or five without seconds. A day must match both
 * the day of the month and the day of the week. Refuses croner's extensions to NCRONTAB (`L`, `W`, `#`,
 * nicknames), as the real host would.
 * @throws HostStartError if the expression is invalid
 */
export function parseSchedule(expression: string): Schedule {
  const fields = expression.trim().split(/\s+/);
  const wellFormed = fields.every((field) => field.split(',').every((one) => part.test(one)));
  if ((fields.length !== 5 && fields.length !== 6) || !wellFormed) {
    throw new HostStartError(
      `the schedule '${expression}' is not an NCRONTAB expression of five or six fields`,
    );
  }
  const sixFields = fields.length === 6 ? fields : ['0', ...fields];
  let cron: Cron;
  try {
    cron = new Cron(sixFields.join(' '), {
      paused: true,
      mode: '6-part',
      timezone: 'UTC',
      domAndDow: true,
      // NCRONTAB reads 5/15 as "from 5 on, every 15".
      sloppyRanges: true,
    });
  } catch (error) {
    throw new HostStartError(`the schedule '${expression}' is not valid: ${String(error)}`, { cause: error });
  }
  return { next: (after) => cron.nextRun(new Date(after))?.getTime() };
}

/** True if occurrences are at least a minute apart. By default the host keeps a status only then. */
export function isSlow(schedule: Schedule, from: number): boolean {
  let last = schedule.next(from);
  for (let i = 0; i < 10 && last !== undefined; i++) {
    const next = schedule.next(last);
    if (next !== undefined && next - last < 60_000) return false;
    last = next;
  }
  return true;
}
