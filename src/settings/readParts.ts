/* Parts of the settings, each read whatever is wrong with the others: for an app that waits for its settings. */
import { type Env, withoutBlanks } from './environment.ts';
import { schedule } from './fields.ts';
import type { Schedules, Settings } from './settings.ts';
import { telemetryConnection } from './telemetrySettings.ts';

/** NCRONTAB with seconds. */
export const scheduleFields = {
  INVOICE_SCHEDULE: schedule('0 */5 * * * *'),
  OUTBOX_SCHEDULE: schedule('*/30 * * * * *'),
};

/** When the timers fire. In place of one that is wrong: its default. */
export function readSchedules(environment: Env): Schedules {
  const { INVOICE_SCHEDULE, OUTBOX_SCHEDULE } = withoutBlanks(environment);
  const read = (field: ReturnType<typeof schedule>, text?: string) =>
    field.safeParse(text).data ?? field.parse(undefined);
  return {
    invoiceSchedule: read(scheduleFields.INVOICE_SCHEDULE, INVOICE_SCHEDULE),
    outboxSchedule: read(scheduleFields.OUTBOX_SCHEDULE, OUTBOX_SCHEDULE),
  };
}

/** Where metrics go and who sends them. Undefined: nowhere. */
export function readTelemetry(environment: Env): Settings['telemetry'] {
  return telemetryConnection.safeParse(withoutBlanks(environment)).data;
}
