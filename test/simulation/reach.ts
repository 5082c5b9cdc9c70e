/** Reaches for everything that a simulation replaces, as the app might by mistake. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { seededRandom } from '../support/seededRandom.ts';
import { replaceGlobals, type Source, useSource } from './engine/globals.ts';

const reached: string[] = [];
const source: Omit<Source, 'random'> = {
  now: () => 4_000,
  monotonic: () => 5_000,
  timeout: () => new AbortController().signal,
  soon: (run) => run(),
  fetch: () => Promise.reject(new Error('there is no network')),
  reached: (what) => reached.push(what),
};

replaceGlobals();
useSource({ ...source, random: seededRandom(1) });
const attempts = [
  () => setTimeout(() => {}, 1),
  () => setInterval(() => {}, 1),
  () => crypto.getRandomValues(new Uint8Array(1)),
  () => randomBytes(1),
  () => randomInt(9),
  () => process.hrtime.bigint(),
];
for (const attempt of attempts) {
  try {
    attempt();
  } catch {
    // It is refused, and noted.
  }
}
const first = [randomUUID(), crypto.randomUUID(), Math.random()];
useSource({ ...source, random: seededRandom(1) });
const again = [randomUUID(), crypto.randomUUID(), Math.random()];
process.send?.({
  reached,
  now: [Date.now(), Date.parse(new Date().toISOString())],
  monotonic: performance.now(),
  same: first.join() === again.join(),
});
