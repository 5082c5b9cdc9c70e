import { type ContainerClient, RestError } from '@azure/storage-blob';
import { z } from 'zod';
import type { Schedule } from './schedule.ts';

/** `Last` before the first run: the minimum date of .NET. */
export const never = '0001-01-01T00:00:00+00:00';

const scheduleStatus = z.object({ Last: z.string(), Next: z.string(), LastUpdated: z.string() });

/** A timer's record across restarts, with the real host's member names. Dates are ISO 8601. */
export type ScheduleStatus = z.output<typeof scheduleStatus>;

export interface ScheduleStatusStore {
  read(): Promise<ScheduleStatus | undefined>;
  write(status: ScheduleStatus): Promise<void>;
}

/** Keeps the status where the real host keeps it: `timers/{host id}/Host.Functions.{name}/status`. */
export function blobScheduleStatus(
  container: ContainerClient,
  hostId: string,
  functionName: string,
): ScheduleStatusStore {
  const blob = container.getBlockBlobClient(`timers/${hostId}/Host.Functions.${functionName}/status`);
  return {
    async read() {
      try {
        const parsed = scheduleStatus.safeParse(JSON.parse((await blob.downloadToBuffer()).toString()));
        return parsed.success ? parsed.data : undefined;
      } catch (error) {
        if (error instanceof RestError && error.statusCode === 404) return undefined;
        throw error;
      }
    },
    async write(status) {
      const text = JSON.stringify(status);
      await blob.upload(text, Buffer.byteLength(text));
    },
  };
}

/**
 * The status to continue with when a listener starts, and whether an occurrence was missed while nobody
 * listened. If the recorded status does not match the schedule, the schedule has changed: it restarts from
 * the last time on record.
 */
export function resume(
  recorded: ScheduleStatus | undefined,
  schedule: Schedule,
  now: number,
): { status: ScheduleStatus; isPastDue: boolean } {
  const since =
    recorded === undefined ? undefined : recorded.Last === never ? recorded.LastUpdated : recorded.Last;
  const from = since === undefined ? now : Date.parse(since);
  const next = schedule.next(from);
  const expected = next === undefined ? never : iso(next);
  const status =
    recorded !== undefined && Date.parse(recorded.Next) === next
      ? recorded
      : { Last: never, Next: expected, LastUpdated: since ?? iso(now) };
  return { status, isPastDue: next !== undefined && next < now };
}

/** The status after the run for the occurrence `last`. */
export function afterRun(schedule: Schedule, last: number, now: number): ScheduleStatus {
  const next = schedule.next(Math.max(last, now));
  return { Last: iso(last), Next: next === undefined ? never : iso(next), LastUpdated: iso(now) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00');
}
