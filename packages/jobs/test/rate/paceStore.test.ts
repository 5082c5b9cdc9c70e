import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { cosmosPaceStore } from '../../src/rate/cosmosPaceStore.ts';
import type { PaceStore } from '../../src/rate/paceStore.ts';
import { paceStoreContract } from './paceStoreContract.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

describe('schedules in memory', () => paceStoreContract(async () => memoryPaceStore()));

describe('schedules in Cosmos', () =>
  paceStoreContract(async () => {
    // The container is one for all tests: each has names of its own.
    const prefix = randomUUID();
    const store = cosmosPaceStore(cosmos.containers.pace);
    return {
      read: (limit) => store.read(`${prefix}-${limit}`),
      create: (limit, schedule) => store.create(`${prefix}-${limit}`, schedule),
      change: (limit, change) => store.change(`${prefix}-${limit}`, change),
    } satisfies PaceStore;
  }));
