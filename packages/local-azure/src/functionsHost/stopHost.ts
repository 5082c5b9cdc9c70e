import type { Clock } from './clock.ts';
import type { DurableEngine } from './durable/index.ts';
import type { createInputReader } from './inputs/inputBinding.ts';
import type { Invoker } from './invoker.ts';
import type { Logger } from './logger.ts';
import type { OutputSender } from './outputs/outputSender.ts';
import type { TriggerListener } from './triggerListener.ts';
import type { Worker } from './worker/worker.ts';

/** Time that a host goes on as before once it is told to stop (ms; measured on version 4.1037). */
const unawareMs = 10_000;

/** Time that running functions have to finish if a person stops the host (ms). */
const finishMs = 10_000;

/**
 * Time that the host has to settle messages once the worker has ended, and the same again to close its
 * outputs (ms).
 */
const settleMs = 1_000;

interface RunningParts {
  worker: Pick<Worker, 'stop'>;
  listeners: readonly TriggerListener[];
  durable: Pick<DurableEngine, 'stop'> | undefined;
  invoker: Pick<Invoker, 'idle' | 'running'>;
  inputs: Pick<ReturnType<typeof createInputReader>, 'close'>;
  outputs: Pick<OutputSender, 'close'>;
  logger: Logger;
  clock: Clock;
}

/** Stops a host, as `FunctionsHost.stop` says. */
export async function stopHost(
  how: 'terminated' | 'asked',
  { worker, listeners, durable, invoker, inputs, outputs, logger, clock }: RunningParts,
): Promise<void> {
  if (how === 'terminated') await clock.sleep(unawareMs);
  const quiet = Promise.all([durable?.stop(), ...listeners.map((listener) => listener.stop())]);
  if (how === 'asked') await atMost(clock, finishMs, Promise.all([quiet, invoker.idle()]));
  const cutOff = [...invoker.running].map(([id, running]) => `${running} (${id})`).join(', ');
  if (cutOff !== '') logger.log('warning', 'Host', `the app is told to end while these run: ${cutOff}`);
  await worker.stop();
  const settled = quiet.then(() => Promise.all(listeners.map((listener) => listener.close())));
  await atMost(clock, settleMs, settled);
  await atMost(clock, settleMs, Promise.all([inputs.close(), outputs.close()]));
}

async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const late = clock.sleep(ms, ended.signal).catch(() => {});
  await Promise.race([work, late]);
  ended.abort();
}
