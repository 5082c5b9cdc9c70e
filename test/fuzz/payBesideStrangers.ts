import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { type Host, startLocalApp } from '../../bench/localApp.ts';
import { httpRoutes } from '../support/httpRoutes.ts';
import { describeProcesses, measuredProcesses } from '../support/measuredProcesses.ts';
import { leave, openInvocations } from './fuzz.ts';
import { workersEnded } from './startFuzzed.ts';

const functionTimeoutMs = 30_000;
const strangersAtOnce = 8;
const longestWaitMs = 60_000;
const patienceMs = 300_000;
const exportedSchema = z.array(z.object({ createdAt: z.string(), paidAt: z.string() }));

/**
 * Two hosts pay invoices while strangers, who have no key, send requests that might never end: with an invocation id of
 * their own, or leaving within milliseconds. They begin so early that a worker would be ended while payments are in flight.
 */
export async function payBesideStrangers(invoices: number): Promise<{ problems: string[]; report: string }> {
  using measured = measuredProcesses();
  await using app = await startLocalApp();
  const env = {
    INVOICE_SCHEDULE: '*/2 * * * * *',
    OUTBOX_SCHEDULE: '*/3 * * * * *',
    PAYMENT_RATE: '100',
    ...measured.env,
    AzureFunctionsJobHost__functionTimeout: `00:00:${functionTimeoutMs / 1_000}`,
  };
  const hosts = await Promise.all(['one', 'two'].map((name) => app.startHost(name, env)));
  const done = new AbortController();
  let requests = 0;
  const strangers = Array.from({ length: strangersAtOnce }, (_, n) => bother(hosts[n % 2], n));
  await delay(functionTimeoutMs - 5_000);
  await measured.begin(4);
  await app.importDue('due', invoices);
  const started = performance.now();
  while ((await app.paymentCounts()).charges < invoices && performance.now() - started < patienceMs) {
    await delay(200);
  }
  const address = `http://127.0.0.1:${hosts[0]?.port}`;
  let waits = await waited(address);
  while (waits.length < invoices && performance.now() - started < patienceMs) {
    await delay(500);
    waits = await waited(address);
  }
  done.abort();
  await Promise.all(strangers);
  const { charges } = await app.paymentCounts();
  const longest = Math.max(...waits);
  const open = await Promise.all(hosts.map(({ port }) => openInvocations(`http://127.0.0.1:${port}`)));
  return {
    report: `${charges} charges, ${waits.length} paid, the longest wait ${longest} ms; ${requests} requests of strangers; ${describeProcesses(measured.processes())}`,
    problems: [
      ...hosts.flatMap(workersEnded),
      ...open.flat(),
      ...(charges === invoices && waits.length === invoices ? [] : ['not everything was paid once']),
      ...(longest <= longestWaitMs ? [] : ['an invoice waited for more than a minute']),
    ],
  };

  async function bother(host: Host | undefined, n: number): Promise<void> {
    const to = `http://127.0.0.1:${host?.port}`;
    const routes = httpRoutes().filter(({ open }) => open);
    for (let sent = n; !done.signal.aborted; sent++) {
      requests++;
      const { method, path } = routes[sent % routes.length] ?? { method: 'GET', path: '' };
      const route = { method, path: path.replace(/\{.*/, '') };
      if (sent % 3 > 0) await leave(to, { ...route, headers: {} }, sent % 9);
      else {
        const signal = AbortSignal.any([done.signal, AbortSignal.timeout(2_000)]);
        const headers = { 'x-ms-invocation-id': `stranger-${n}-${sent}` };
        await fetch(`${to}/api/${route.path}`, { method, headers, signal }).then(
          (response) => response.body?.cancel(),
          () => {},
        );
      }
      await delay(20);
    }
  }
}

/** Milliseconds from import to payment of each invoice that is paid. */
async function waited(address: string): Promise<number[]> {
  const answer = await fetch(`${address}/api/ops/invoices.csv?status=paid`);
  const rows = exportedSchema.parse(parse(await answer.text(), { columns: true }));
  return rows.map(({ createdAt, paidAt }) => Date.parse(paidAt) - Date.parse(createdAt));
}
