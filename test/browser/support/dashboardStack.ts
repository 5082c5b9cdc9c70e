import { fileURLToPath } from 'node:url';
import { ensureDashboard } from '../../../scripts/buildDashboard.ts';
import { type HostProcess, startHostProcess } from '../../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../../support/localCloud.ts';

export const key = 'key-of-the-browser-tests';

export interface DashboardStack extends AsyncDisposable {
  cloud: LocalCloud;
  host: HostProcess;
  /** `http://127.0.0.1:PORT` */
  address: string;
  /** Makes a call under `ops/` with the key. */
  ops(
    path: string,
    init?: { method?: string; body?: unknown; csv?: string; key?: string },
  ): Promise<Response>;
}

/** A local cloud and one host that asks for keys. Runs are started by hand only. */
export async function dashboardStack(): Promise<DashboardStack> {
  await ensureDashboard();
  await using starting = new AsyncDisposableStack();
  const cloud = starting.use(await startLocalCloud());
  const host = starting.use(
    await startHostProcess({
      app: fileURLToPath(new URL('../../../', import.meta.url)),
      args: ['--enable-auth'],
      env: {
        ...settingsFor(cloud),
        FUNCTIONS_MASTER_KEY: key,
        INSTANCE_ID: 'host-1',
        WEBSITE_SITE_NAME: 'payonce-staging',
        INVOICE_SCHEDULE: '0 0 0 1 1 *',
        OUTBOX_SCHEDULE: '*/2 * * * * *',
        PAYMENT_RATE: '25',
      },
    }),
  );
  const running = starting.move();
  return {
    cloud,
    host,
    address: host.address,
    ops: (path, { method = 'GET', body, csv, key: idempotencyKey } = {}) =>
      fetch(`${host.address}/api/ops/${path}`, {
        method,
        headers: {
          'x-functions-key': key,
          'content-type': csv === undefined ? 'application/json' : 'text/csv',
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        ...(csv === undefined ? {} : { body: csv }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
