/**
 * Replaces everything of the runtime that differs between two runs: time, timers, randomness and ids. Time comes from the
 * machine whose code runs at the moment, so even a library that reads the clock sees that machine's time. What the app has no
 * business to reach in a simulation (real timers, other sources of randomness, the network) is refused and noted.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { SeededRandom } from '../../support/seededRandom.ts';

/** Where the replaced globals get their answers. */
export interface Source {
  /** Wall-clock milliseconds of the instance that runs. */
  now(): number;
  /** Monotonic milliseconds of the instance that runs. */
  monotonic(): number;
  /** A signal that aborts after `ms` milliseconds of simulated time. */
  timeout(ms: number): AbortSignal;
  /** Calls it in another round of the event loop, at the same simulated time. */
  soon(run: () => void): void;
  fetch(url: string, init: RequestInit): Promise<Response>;
  random: SeededRandom;
  /** Called with what was reached although nothing may reach it. */
  reached(what: string): void;
}

const RealDate = Date;
export const realImmediate: (run: () => void) => unknown = setImmediate;
export const realNow: () => number = performance.now.bind(performance);

let source: Source | undefined;
let ignoresTimers = false;

/** Runs a tool that waits for nothing in the simulation: its time-outs never fire. */
export async function withoutTimers<T>(run: () => Promise<T>): Promise<T> {
  ignoresTimers = true;
  try {
    return await run();
  } finally {
    ignoresTimers = false;
  }
}

/** From now on the globals answer from here; undefined: nobody runs, and every use is an error. */
export function useSource(given: Source | undefined): void {
  source = given;
}

function current(what: string): Source {
  if (source === undefined) throw new Error(`${what} was used outside a simulation`);
  return source;
}

function refuse(what: string): never {
  source?.reached(what);
  throw new Error(`${what} was reached in a simulation`);
}

/** Replaces the globals of this process, for good. Errors have no stacks from then on, unless `stacks`: they cost a tenth. */
export function replaceGlobals({ stacks = false } = {}): void {
  if (!stacks) Error.stackTraceLimit = 0;
  class SimulatedDate extends RealDate {
    constructor(...given: [] | [number | string | Date]) {
      if (given.length === 0) super(current('new Date()').now());
      else super(...given);
    }

    static override now(): number {
      return current('Date.now').now();
    }
  }
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: () => (ignoresTimers ? undefined : refuse('setTimeout')),
    setInterval: () => refuse('setInterval'),
    setImmediate: (run: () => void) => current('setImmediate').soon(run),
    fetch: (url: string, init: RequestInit) => current('fetch').fetch(url, init),
  });
  Math.random = () => current('Math.random').random.next();
  performance.now = () => current('performance.now').monotonic();
  AbortSignal.timeout = (ms) => current('AbortSignal.timeout').timeout(ms);
  globalThis.crypto.randomUUID = randomUuid;
  globalThis.crypto.getRandomValues = () => refuse('crypto.getRandomValues');
  const cryptoModule: Record<string, unknown> = crypto;
  cryptoModule.randomUUID = randomUuid;
  for (const name of ['randomBytes', 'randomInt', 'randomFill', 'randomFillSync'])
    cryptoModule[name] = () => refuse(`crypto.${name}`);
  process.hrtime.bigint = () => refuse('process.hrtime');
  syncBuiltinESMExports();
}

type Uuid = `${string}-${string}-${string}-${string}-${string}`;

/** Of the form of a version 4 UUID (RFC 9562), with bits of the seed. */
function randomUuid(): Uuid {
  const { random } = current('randomUUID');
  const part = () =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const [a, b, c, d] = [part(), part(), part(), part()];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`;
}
