import { readFileSync } from 'node:fs';
import { type Host, type LocalApp, startLocalApp } from '../../bench/localApp.ts';
import { ensureDashboard } from '../../scripts/buildDashboard.ts';
import { type MeasuredProcess, measuredProcesses } from '../support/measuredProcesses.ts';
import { type FuzzResult, fuzz } from './fuzz.ts';

const never = '0 0 0 29 2 *';
/** Of host and worker together: an instance has 2 GB. */
const mostMemoryMb = 1_500;
/** Short, so that an invocation that never ends takes its worker along before the run is over. */
const shortTimeout = { AzureFunctionsJobHost__functionTimeout: '00:00:20' };

/** Fuzzes one host on a local cloud of its own. */
export async function fuzzOneHost(options: {
  requests: number;
  seed: number;
}): Promise<FuzzResult & { processes: MeasuredProcess[] }> {
  await ensureDashboard();
  using measured = measuredProcesses();
  await using app: LocalApp = await startLocalApp();
  const schedules = { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never };
  const host = await app.startHost('fuzzed', { ...schedules, ...shortTimeout, ...measured.env });
  await measured.begin(2);
  const secrets = [app.settings.stripe.secretKey, app.serviceBus, 'AccountKey=', 'SharedAccessKey='];
  const result = await fuzz(`http://127.0.0.1:${host.port}`, { ...options, secrets });
  const processes = measured.processes();
  const memoryMb = processes.reduce((sum, one) => sum + one.memoryMb, 0);
  const tooMuch = memoryMb > mostMemoryMb ? [`host and worker took ${memoryMb} MB`] : [];
  return { ...result, processes, problems: [...result.problems, ...workersEnded(host), ...tooMuch] };
}

/** Lines of a host's log that say that its worker was ended. */
export function workersEnded({ logFile }: Pick<Host, 'logFile'>): string[] {
  return readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => /A function timeout has occurred|another one is started/.test(line));
}
