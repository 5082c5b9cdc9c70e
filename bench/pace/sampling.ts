import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalApp } from '../localApp.ts';
import type { Sample } from './samples.ts';

export interface Sampling {
  /** The samples so far, oldest first. */
  samples: readonly Sample[];
  /** @throws what a poll failed with */
  stop(): Promise<void>;
}

const everyMs = 1_000;

/** Asks the stand-ins for their counts once a second. They count in memory, so this costs the app nothing. */
export function startSampling(app: Pick<LocalApp, 'paymentCounts' | 'cosmosRequests'>): Sampling {
  const samples: Sample[] = [];
  const stopping = new AbortController();
  const loop = poll();
  loop.catch(() => {});

  async function poll(): Promise<void> {
    for (let next = performance.now(); !stopping.signal.aborted; next += everyMs) {
      samples.push(await sampleOf(app));
      const waitMs = Math.max(0, next + everyMs - performance.now());
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    samples,
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

async function sampleOf(app: Pick<LocalApp, 'paymentCounts' | 'cosmosRequests'>): Promise<Sample> {
  const before = performance.now();
  const [payments, requests] = await Promise.all([app.paymentCounts(), app.cosmosRequests()]);
  const busyMs = cpus().reduce(
    (sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq,
    0,
  );
  const pace = requests.get('pace') ?? 0;
  const total = [...requests.values()].reduce((sum, count) => sum + count, 0);
  return { at: (before + performance.now()) / 2, ...payments, cosmos: total - pace, pace, busyMs };
}
