import { app, type TimerHandler } from '@azure/functions';
import { archiveSchedule } from '../archive/archiving.ts';
import { payonce } from '../payonce.ts';
import { logTick } from '../platform/logTick.ts';

const { invoiceSchedule, outboxSchedule } = payonce.settings;

app.timer('processInvoices', { schedule: invoiceSchedule, handler: logged(() => payonce.processInvoices()) });
app.timer('sweepOutbox', { schedule: outboxSchedule, handler: logged(() => payonce.sweepOutbox()) });
app.timer('trackPayments', { schedule: outboxSchedule, handler: logged(() => payonce.trackPayments()) });
app.timer('archiveInvoices', {
  schedule: archiveSchedule,
  handler: logged((timer, context) => payonce.archiveInvoices(timer, context)),
});

function logged(
  tick: (...given: Parameters<TimerHandler>) => Promise<object | null | undefined>,
): TimerHandler {
  return async (timer, context) => logTick(context, (await tick(timer, context)) ?? null);
}
