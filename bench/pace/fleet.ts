import { setTimeout as delay } from 'node:timers/promises';
import type { Host, LocalApp } from '../localApp.ts';
import { everyFiveMinutesFrom, tickAfter } from './schedule.ts';

/** Hosts of the app whose timer has just fired for the first time. */
export interface Fleet {
  hosts: readonly Host[];
  /** Starts one more host. */
  add(): Promise<void>;
}

/** Milliseconds from the start of the first host to the first tick. */
const startMs = { base: 8_000, perHost: 3_000 };

/**
 * Starts hosts with the app's own schedules and resolves at the first tick of the job. The first host starts
 * alone, so it holds the locks of the timers: it is the one that claims.
 */
export async function startFleet(app: LocalApp, rate: number, size: number): Promise<Fleet> {
  const tick = tickAfter(Date.now(), startMs.base + size * startMs.perHost);
  const env = {
    PAYMENT_RATE: `${rate}`,
    INVOICE_SCHEDULE: everyFiveMinutesFrom(tick),
    // Without a webhook, reading the list of events takes up to one turn in 25.
    STRIPE_WEBHOOK_SECRETS: `whsec_${'0'.repeat(32)}`,
  };
  const hosts: Host[] = [];
  const add = async (name: string) => void hosts.push(await app.startHost(name, env));
  await add('host-1');
  await Promise.all(Array.from({ length: size - 1 }, (_, index) => add(`host-${index + 2}`)));
  if (Date.now() >= tick.getTime()) throw new Error('the hosts started too slowly for the first tick');
  await delay(tick.getTime() - Date.now());
  return { hosts, add: () => add(`host-${hosts.length + 1}`) };
}
