/** The store of locks as one machine reaches it. It notes for how long the machine may trust each lease. */
import type { LockStore } from '../../../packages/leases/src/index.ts';
import { trustedUntil } from '../../../packages/leases/src/tenure.ts';
import type { MemoryLockStore } from '../../../packages/leases/src/testing/memoryLockStore.ts';
import { leaseTiming } from '../../../packages/leases/src/timing.ts';
import type { Machine } from '../engine/machine.ts';
import type { Network } from '../engine/network.ts';

/**
 * Time until which a machine may trust its lease of a lock, on its own monotonic clock (ms); undefined if it
 * never had one.
 */
export type TrustedUntil = (key: string) => number | undefined;

export function locksOf(
  memory: MemoryLockStore,
  machine: Machine,
  network: Network,
): { store: LockStore; trustedUntil: TrustedUntil } {
  /** By lock and lease: who takes a lock away by force has a lease of it, too, for a moment. */
  const trusted = new Map<string, Map<string, number>>();
  const ask = <T>(name: string, signal: AbortSignal, run: () => Promise<T>) =>
    network.call(machine, 'locks', name, run, signal);
  const trust = (key: string, leaseId: string, leaseMs: number, sentAt: number) => {
    const now = machine.clock.monotonic();
    const others = [...(trusted.get(key) ?? [])].filter(([, until]) => until > now);
    const until = trustedUntil(sentAt, leaseTiming(leaseMs / 1000));
    trusted.set(key, new Map([...others, [leaseId, until]]));
  };
  // The world answers at once: a signal is for the way there and back.
  const never = new AbortController().signal;

  return {
    trustedUntil(key) {
      const leases = trusted.get(key);
      return leases === undefined ? undefined : Math.max(...leases.values());
    },
    store: {
      traits: memory.traits,
      look: (key, signal) => ask('look', signal, () => memory.look(key, never)),
      create: (key, signal) => ask('create', signal, () => memory.create(key, never)),
      async acquire(key, leaseId, leaseMs, signal) {
        const sentAt = machine.clock.monotonic();
        const answer = await ask('acquire', signal, () => memory.acquire(key, leaseId, leaseMs, never));
        if (answer === 'acquired') trust(key, leaseId, leaseMs, sentAt);
        return answer;
      },
      raise: (key, leaseId, record, version, signal) =>
        ask('raise', signal, () => memory.raise(key, leaseId, record, version, never)),
      async renew(key, leaseId, leaseMs, signal) {
        const sentAt = machine.clock.monotonic();
        const answer = await ask('renew', signal, () => memory.renew(key, leaseId, leaseMs, never));
        if (answer === 'renewed') trust(key, leaseId, leaseMs, sentAt);
        else trusted.get(key)?.set(leaseId, 0);
        return answer;
      },
      release: (key, leaseId, signal) => ask('release', signal, () => memory.release(key, leaseId, never)),
      break: (key, version, signal) => ask('break', signal, () => memory.break(key, version, never)),
      list: (prefix, signal) => memory.list(prefix, signal),
      async [Symbol.asyncDispose]() {},
    },
  };
}
