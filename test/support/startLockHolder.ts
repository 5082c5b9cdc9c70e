import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LostReason } from '../../packages/leases/src/index.ts';
import type { ContractHolder } from '../../packages/leases/src/testing/subject.ts';
import type { StoreAddress } from './openLockStore.ts';

export type HolderMessage =
  | { kind: 'held'; fence: number }
  | { kind: 'step' }
  | { kind: 'refused'; reason: LostReason; signalled: boolean };

/** The lock that a process acquires: its store, lease time, key and holder. */
export interface Holding {
  store: StoreAddress;
  leaseMs: number;
  key: string;
  instance: string;
}

export interface LockHolder extends AsyncDisposable {
  fence: number;
  /** Steps taken so far. */
  steps(): number;
  /** Resolves when a step is refused. */
  refused: Promise<{ reason: LostReason; signalled: boolean }>;
  /** SIGKILL, SIGSTOP, SIGCONT or SIGTERM. */
  signal(name: NodeJS.Signals): void;
  ended: Promise<void>;
}

/** Starts a process that acquires the lock. Resolves once it holds it. */
export async function startLockHolder(holding: Holding): Promise<LockHolder> {
  const child = fork(fileURLToPath(new URL('lockHolder.ts', import.meta.url)), [JSON.stringify(holding)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let steps = 0;
  let refuse: (refusal: { reason: LostReason; signalled: boolean }) => void = () => {};
  const refused = new Promise<{ reason: LostReason; signalled: boolean }>((resolve) => (refuse = resolve));
  const fence = await new Promise<number>((resolve, reject) => {
    void ended.then(() => reject(new Error('the holder ended before it held the lock')));
    child.on('message', (message: HolderMessage) => {
      switch (message.kind) {
        case 'held':
          return resolve(message.fence);
        case 'step':
          steps++;
          return;
        case 'refused':
          return refuse(message);
      }
    });
  });
  return {
    fence,
    steps: () => steps,
    refused,
    signal: (name) => child.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Starts holders for a contract suite, and ends them all when it is disposed. */
export function contractHolders(store: StoreAddress, leaseMs: number) {
  const holders: LockHolder[] = [];
  return {
    startHolder: async (key: string): Promise<ContractHolder> => {
      const holder = await startLockHolder({ store, leaseMs, key, instance: 'holder' });
      holders.push(holder);
      return {
        ...holder,
        kill: () => holder.signal('SIGKILL'),
        freeze: () => holder.signal('SIGSTOP'),
        thaw: () => holder.signal('SIGCONT'),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(holders.map((holder) => holder[Symbol.asyncDispose]()));
    },
  };
}
