import { app, type TimerHandler } from '@azure/functions';
import { archiveSchedule } from '../archive/archiving.ts';
import { payonce } from '../payonce.ts';
import { logTick } from '../platform/logTick.ts';

const { invoiceSchedule, outboxSchedule } = payonce.settings;

app.timer('processInvoices', { schedule: invoiceSchedule, handler: logged(() => payonce.processInvoices()) });
app.timer('sweepOutbox', { schedule: outboxSchedule, handler: logged(() => payonce.sweepOutbox()) });
app.timer('trackPayments', { schedule: outboxSchedule, handler: logged(() => payonce.trackPayments()) });
app.timer('archiveInvoices', { schedule: archiveSchedule, handler: logged(() => payonce.archiveInvoices()) });

function logged(tick: () => Promise<object | null>): TimerHandler {
  return async (_timer, context) => logTick(context, await tick());
}
