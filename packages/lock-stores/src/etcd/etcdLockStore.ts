import { randomUUID } from 'node:crypto';
import type { LinePlace, LockStore, StoreTraits } from '@payonce/leases';
import { checkOwner, nextFence } from '@payonce/leases';
import { recordToText } from '../recordText.ts';
import { aborted } from '../untilAborted.ts';
import { type EtcdMember, type EtcdTls, etcdDenies, etcdGateway } from './etcdGateway.ts';
import {
  brokenLeaseValue,
  type EtcdLockKeys,
  etcdLeaseId,
  firstInLine,
  hasValue,
  isAsSeen,
  isVersion,
  keyExists,
  keysOf,
  lastBefore,
  lockFrom,
  page,
  refusalOfEntry,
  viewOfEntry,
} from './etcdLock.ts';
import { base64, type EtcdOperation } from './etcdMessages.ts';

export interface EtcdLockOptions {
  /** Prefix of the keys of all locks in etcd. Default: `payonce/locks/`. */
  prefix?: string;
  /** Certificates, where the endpoints are `https://`: the cluster's authority, and your own for mutual TLS. */
  tls?: EtcdTls;
}

export type { EtcdTls };

/**
 * etcd grants at least 1.5 times its election timeout: 2 s by default. It looks for leases that have ended twice a second
 * (measured lag: up to 0.5 s; the rest is for a busy machine).
 */
export const etcdTraits: StoreTraits = {
  lease: { minMs: 2_000, maxMs: 3_600_000, stepMs: 1_000 },
  expiryLagMs: 1_500,
  keptBy: 'id',
  looks: 'anyone',
};

/** The place of a waiter. */
interface Spot {
  /** The etcd lease that its key ends with. */
  id: string;
  /** The revision at which its key was created. */
  created: string;
  /** The key whose end it waits for, and the revision from which on: of the one before it, or of the lease. Undefined: nothing. */
  until: { key: string; revision: string } | undefined;
}

/** Time that a waiter has to leave the line (ms). Otherwise its place ends by itself. */
const leaveMs = 2_000;

/** Number of leases that are remembered, lost ones among them. Beyond it all are forgotten, and a release looks first. */
const mostHeld = 10_000;

/** Locks in one answer of a listing. */
const pageSize = 500;

/**
 * Locks on etcd 3.4 or later, through its JSON gateway. Endpoints are `http://host:2379` or `https://…`, with
 * `user:password@` in front of the host where etcd asks for it. A failed call moves the next one to the next endpoint.
 *
 * - A lock has two keys: `record/…` with the record, until `forgetLocks` deletes it, and `lease/…` with the lease id, attached to an etcd lease.
 * - The lease ends when the etcd lease does: at its time, or up to 0.5 s later (measured). A new leader of the cluster
 *   starts its time anew, so it then ends up to a lease and an election later, never early.
 * - The fence is in the record, which is written in one transaction that compares the lease and the revision.
 * - etcd needs no settings for it. An election timeout above 1.3 s makes the shortest leases longer than asked for.
 * - What breaks it: a backup restored into a running system frees what is held, and only the holders' clocks make new fences
 *   rise. An etcd before 3.4.31 or 3.5.13 whose leader hangs on its disk may end leases early (https://github.com/etcd-io/etcd/issues/15247).
 */
export function etcdLockStore(
  endpoints: string | readonly string[],
  { prefix = 'payonce/locks/', tls }: EtcdLockOptions = {},
): LockStore {
  const etcd = etcdGateway(typeof endpoints === 'string' ? [endpoints] : endpoints, tls);

  const spots = new Map<string, Spot>();
  /** The etcd leases that this process holds locks with, by lock and lease, so that a release needs no look. */
  const held = new Map<string, string>();

  /** Takes a place in line, or keeps the one that the ticket has, and finds out what it has to wait for. */
  async function queue(
    member: EtcdMember,
    { lease, line, get }: EtcdLockKeys,
    { ticket, keptMs }: LinePlace,
  ): Promise<void> {
    const own = base64(line + ticket);
    const known = spots.get(ticket);
    const kept = known !== undefined && (await member.keepAlive(known.id)).kept;
    const spot = kept ? known : await join();
    spots.set(ticket, spot);
    const answer = await member.txn({ success: [...get, lastBefore(line, spot.created)] });
    const before = answer.ranges[2]?.entries[0];
    const isFree = before === undefined && lockFrom(answer).lease === undefined;
    const next = String(BigInt(answer.revision) + 1n);
    spot.until = isFree
      ? undefined
      : { key: before === undefined ? lease : base64(before.key), revision: next };

    async function join(): Promise<Spot> {
      const id = etcdLeaseId({ lease: own }, randomUUID(), keptMs);
      await member.grant(id, Math.max(etcdTraits.lease.minMs / 1000, Math.ceil(keptMs / 1000)));
      const put = { request_put: { key: own, value: '', lease: id } };
      const { ranges } = await member.txn({ success: [put, { request_range: { key: own } }] });
      const created = ranges[0]?.entries[0]?.createRevision;
      if (created === undefined) throw new Error('etcd has not kept a place in line');
      return { id, created, until: undefined };
    }
  }

  async function leave(ticket: string): Promise<void> {
    const spot = spots.get(ticket);
    spots.delete(ticket);
    if (spot === undefined) return;
    await etcd.onOneMember(AbortSignal.timeout(leaveMs), (member) => member.revoke(spot.id)).catch(() => {});
  }

  return {
    traits: etcdTraits,
    isPermanent: etcdDenies,

    async look(key, signal) {
      const { get } = keysOf(prefix, key);
      const { record, lease } = lockFrom(
        await etcd.onOneMember(signal, (member) => member.txn({ success: get })),
      );
      return record && viewOfEntry(record, lease);
    },

    async create(key, signal) {
      const { record, get } = keysOf(prefix, key);
      const put = { request_put: { key: record, value: '' } };
      const txn = { compare: [keyExists(record)], success: get, failure: [put, ...get] };
      const lock = lockFrom(await etcd.onOneMember(signal, (member) => member.txn(txn)));
      if (lock.record === undefined) throw new Error(`etcd has no lock "${key}" after it was created`);
      return viewOfEntry(lock.record, lock.lease);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const keys = keysOf(prefix, key);
      const id = etcdLeaseId(keys, leaseId, leaseMs);
      return etcd.onOneMember(signal, async (member) => {
        const seen = lockFrom(await member.txn({ success: keys.get }));
        if (seen.record === undefined) return 'absent';
        if (seen.lease !== undefined && ![leaseId, brokenLeaseValue].includes(seen.lease.value))
          return 'held';
        const granted = await member.grant(id, leaseMs / 1000);
        const again = granted === 'exists' ? await member.keepAlive(id) : undefined;
        const answer = await member.txn({
          compare: [keyExists(keys.record), isAsSeen(keys.lease, seen.lease)],
          success: [{ request_put: { key: keys.lease, value: base64(leaseId), lease: id } }],
          failure: keys.get,
        });
        const { record, lease } = lockFrom(answer);
        if (answer.succeeded || (lease?.value === leaseId && lease.lease === id)) {
          if (again === undefined || (again.kept && again.term === answer.term)) return 'acquired';
          throw new Error('etcd did not confirm that the lease was restarted');
        }
        // Another was quicker. Without this, the etcd lease would run out by itself.
        await member.revoke(id);
        return record === undefined ? 'absent' : 'held';
      });
    },

    async take(key, leaseId, { leaseMs, record: wanted, place }, signal) {
      const keys = keysOf(prefix, key);
      const id = etcdLeaseId(keys, leaseId, leaseMs);
      const text = (last: number | undefined) => {
        if (wanted === undefined) return undefined;
        const { floor, ...rest } = wanted;
        const fence = nextFence(last, Date.now(), floor);
        return { fence, value: recordToText({ ...rest, fence, leaseMs }) };
      };
      if (wanted !== undefined) checkOwner(wanted.owner);
      return etcd.onOneMember(signal, async (member) => {
        const answer = await member.txn({ success: [...keys.get, firstInLine(keys.line)] });
        const seen = lockFrom(answer);
        const first = answer.ranges[2]?.entries[0]?.key;
        const ours = seen.lease?.value === leaseId;
        const free = seen.lease === undefined || seen.lease.value === brokenLeaseValue;
        const passed = first !== undefined && first !== keys.line + place?.ticket;
        if (!ours && (!free || passed)) {
          if (place !== undefined) await queue(member, keys, place);
          return 'held';
        }
        const granted = await member.grant(id, leaseMs / 1000);
        const again = granted === 'exists' ? await member.keepAlive(id) : undefined;
        const record = text(
          seen.record === undefined ? undefined : viewOfEntry(seen.record, undefined).record?.fence,
        );
        const writes: EtcdOperation[] = [
          { request_put: { key: keys.lease, value: base64(leaseId), lease: id } },
        ];
        if (record !== undefined || seen.record === undefined)
          writes.push({ request_put: { key: keys.record, value: base64(record?.value ?? '') } });
        if (place !== undefined)
          writes.push({ request_delete_range: { key: base64(keys.line + place.ticket) } });
        const compare = [isAsSeen(keys.record, seen.record), isAsSeen(keys.lease, seen.lease)];
        const { succeeded, term } = await member.txn({ compare, success: writes });
        if (!succeeded) {
          // Another was quicker. Without this, the etcd lease would run out by itself.
          if (!ours) await member.revoke(id);
          return 'held';
        }
        if (again !== undefined && !(again.kept && again.term === term))
          throw new Error('etcd did not confirm that the lease was restarted');
        if (held.size >= mostHeld) held.clear();
        held.set(`${leaseId} ${key}`, id);
        // Nobody waits for it: the place itself is gone already.
        if (place !== undefined) void leave(place.ticket);
        return record?.fence ?? 0;
      });
    },

    async wait() {
      const ticket = randomUUID();
      return {
        ticket,
        async called(signal) {
          const until = spots.get(ticket)?.until;
          // The take got no answer: the next one gives it a place.
          if (until === undefined) return aborted(signal);
          const watch = (member: EtcdMember) =>
            member.deleted(until.key, until.revision).catch(() => aborted(signal));
          await etcd.onOneMember(signal, watch);
        },
        [Symbol.asyncDispose]: () => leave(ticket),
      };
    },

    async raise(key, leaseId, written, version, signal) {
      const { record, lease, get } = keysOf(prefix, key);
      const txn = {
        compare: [hasValue(lease, 'EQUAL', leaseId), isVersion(record, version)],
        success: [{ request_put: { key: record, value: base64(recordToText(written)) } }],
        failure: get,
      };
      const answer = await etcd.onOneMember(signal, (member) => member.txn(txn));
      if (answer.succeeded) return 'raised';
      const lock = lockFrom(answer);
      return lock.lease?.value === leaseId ? 'changed' : refusalOfEntry(lock);
    },

    async renew(key, leaseId, leaseMs, signal) {
      const keys = keysOf(prefix, key);
      return etcd.onOneMember(signal, async (member) => {
        const { kept, term } = await member.keepAlive(etcdLeaseId(keys, leaseId, leaseMs));
        const answer = await member.txn({ success: keys.get });
        const lock = lockFrom(answer);
        if (lock.lease?.value !== leaseId) return refusalOfEntry(lock);
        if (!kept) return { kind: 'refused', reason: 'taken', detail: 'etcd has ended the lease' };
        if (term !== answer.term) throw new Error('etcd changed its leader during the renewal');
        return 'renewed';
      });
    },

    async release(key, leaseId, signal) {
      const { get } = keysOf(prefix, key);
      const name = `${leaseId} ${key}`;
      const known = held.get(name);
      held.delete(name);
      return etcd.onOneMember(signal, async (member) => {
        // Its key ends with it, if it has not ended before.
        if (known !== undefined) return (await member.revoke(known)) === 'revoked' ? 'released' : 'gone';
        const { lease } = lockFrom(await member.txn({ success: get }));
        if (lease?.value !== leaseId) return 'gone';
        return (await member.revoke(lease.lease)) === 'revoked' ? 'released' : 'gone';
      });
    },

    async break(key, version, signal) {
      const { record, lease, get } = keysOf(prefix, key);
      const txn = {
        compare: [isVersion(record, version), hasValue(lease, 'NOT_EQUAL', brokenLeaseValue)],
        // It stays attached to the etcd lease, and ends with it.
        success: [{ request_put: { key: lease, value: base64(brokenLeaseValue), ignore_lease: true } }],
        failure: get,
      };
      const answer = await etcd.onOneMember(signal, (member) => member.txn(txn));
      if (answer.succeeded) return 'broken';
      return lockFrom(answer).record?.modRevision === version ? 'notHeld' : 'changed';
    },

    async forget(key, version, signal) {
      const keys = keysOf(prefix, key);
      const txn = {
        compare: [isVersion(keys.record, version), isAsSeen(keys.lease, undefined)],
        success: [{ request_delete_range: { key: keys.record } }],
        failure: keys.get,
      };
      const answer = await etcd.onOneMember(signal, (member) => member.txn(txn));
      const { record, lease } = lockFrom(answer);
      if (answer.succeeded || record === undefined) return 'forgotten';
      return lease === undefined ? 'changed' : 'held';
    },

    async *list(beginning, signal) {
      const [records, leases] = [`${prefix}record/`, `${prefix}lease/`];
      for (let from = beginning; ;) {
        const success = [records, leases].map((folder) => page(folder + beginning, folder + from, pageSize));
        const answer = await etcd.onOneMember(signal, (member) => member.txn({ success }));
        const [found, leased] = answer.ranges;
        // Every held lock has its record, so this page of leases reaches as far as that of the records.
        const leaseOf = new Map(leased?.entries.map((lease) => [lease.key.slice(leases.length), lease]));
        for (const record of found?.entries ?? []) {
          const key = record.key.slice(records.length);
          yield { key, ...viewOfEntry(record, leaseOf.get(key)) };
          from = `${key}\0`;
        }
        if (found?.more !== true) return;
      }
    },

    async [Symbol.asyncDispose]() {
      etcd[Symbol.dispose]();
    },
  };
}
