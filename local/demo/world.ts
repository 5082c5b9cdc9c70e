import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { parseEnvFile } from '../../packages/local-azure/src/functionsHost/settings.ts';
import { startChild } from '../start/child.ts';
import type { HostState } from './demoState.ts';
import { type DemoHost, startDemoHost } from './host.ts';
import { type Relay, startRelay } from './relay.ts';
import type { DemoStep } from './step.ts';
import { switchFileSetting, writeSwitches } from './switchFile.ts';

/** A service by the setting that has its address. */
export const serviceSettings = {
  cosmos: 'Cosmos',
  serviceBus: 'ServiceBus',
  storage: 'AzureWebJobsStorage',
  payments: 'STRIPE_API_BASE',
} as const;
export type ServiceName = keyof typeof serviceSettings;

/** A local cloud in memory and the hosts that pay in it. Whatever it holds goes with it. */
export interface DemoWorld extends AsyncDisposable {
  hosts: readonly DemoHost[];
  /** Settings that lead to the services past every relay. */
  settings: Record<string, string | undefined>;
  /** Cuts the hosts off from a service, or lets them reach it again. */
  cut(service: ServiceName, isCut: boolean): void;
  /** Path of the file that says what is switched off. */
  switchFile: string;
}

/** Short times, so that what is lost is noticed while somebody looks. */
const settingsOfHosts = {
  INVOICE_SCHEDULE: '*/2 * * * * *',
  OUTBOX_SCHEDULE: '*/3 * * * * *',
  LEASE_SECONDS: '15',
  CLAIM_STALE_SECONDS: '20',
  PAYMENT_TIMEOUT_SECONDS: '4',
};
/** A call is in flight long enough for something to happen to it (ms). */
const paymentLatency = '400';

export async function startWorld({
  folder,
  ports,
  onStep,
  onState,
}: {
  folder: string;
  ports: readonly number[];
  onStep: (host: string, step: DemoStep) => void;
  onState: (host: string, state: HostState) => void;
}): Promise<DemoWorld> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'logs'), { recursive: true });
  await using starting = new AsyncDisposableStack();
  const cloudFile = join(folder, 'env');
  const cloud = await startChild(
    'the local cloud',
    ['local/cloud.ts', '--env-file', cloudFile, '--payments-latency', paymentLatency],
    { logFile: join(folder, 'logs', 'cloud.log') },
  );
  starting.defer(() => cloud.stop(10_000));
  const settings = parseEnvFile(readFileSync(cloudFile, 'utf8'));

  const relays = new Map<string, Relay[]>();
  const lines = await Promise.all(
    Object.entries(settings).map(async ([name, value = '']) => {
      if (!Object.values<string>(serviceSettings).includes(name)) return `${name}=${value}`;
      const local = /127\.0\.0\.1:(\d+)/g;
      const own = await Promise.all(
        [...value.matchAll(local)].map(async ([, port]) => starting.use(await startRelay(Number(port)))),
      );
      relays.set(name, own);
      const left = own.values();
      return `${name}=${value.replaceAll(local, () => `127.0.0.1:${left.next().value?.port}`)}`;
    }),
  );
  const envFile = join(folder, 'hosts.env');
  writeFileSync(envFile, lines.join('\n'));
  const switchFile = join(folder, 'switches.json');
  writeSwitches(switchFile, { off: [], keyOff: [], clocks: {} });

  const hosts = await Promise.all(
    ports.map(async (port, index) => {
      const name = `host-${index + 1}`;
      const host = await startDemoHost({
        name,
        port,
        envFile,
        env: { ...settingsOfHosts, [switchFileSetting]: switchFile },
        logFile: join(folder, 'logs', `${name}.log`),
        onStep: (step) => onStep(name, step),
        onState: (state) => onState(name, state),
      });
      starting.defer(() => host.end());
      return host;
    }),
  );
  const running = starting.move();
  return {
    hosts,
    settings,
    switchFile,
    cut(service, isCut) {
      for (const relay of relays.get(serviceSettings[service]) ?? []) relay.cut(isCut);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Ports for the hosts, which keep them when the world is made anew. */
export const hostPorts = () => freePorts(3);
