import { randomUUID } from 'node:crypto';
import type { ServiceBusSessionReceiver } from '@azure/service-bus';
import type { LockStore, Refusal, StoreTraits } from '@payonce/leases';
import { checkKey } from '@payonce/leases';
import { aText, fieldsOf, orElse, orNull } from '../answers.ts';
import { recordFromText, recordToText } from '../recordText.ts';
import { untilAborted } from '../untilAborted.ts';
import {
  type ConnectServiceBus,
  type LockBusConnection,
  serviceBusConnections,
} from './serviceBusConnections.ts';
import { acceptLockSession, serviceBusDenies, unless } from './serviceBusLockSession.ts';

export type { ConnectServiceBus } from './serviceBusConnections.ts';

export interface ServiceBusLockOptions {
  /** LockDuration of the queue, in milliseconds: whole seconds, and the length of every lease. Default: 30 s. */
  lockDurationMs?: number;
}

/** A session that this store has accepted. */
interface Session {
  leaseId: string;
  receiver: ServiceBusSessionReceiver;
  connection: LockBusConnection;
  /** When its lock has run out at the latest, in milliseconds on the monotonic clock. */
  endsBy: number;
  /** Its state, once it is known: nobody else writes it meanwhile. */
  state?: SessionState | undefined;
}

/** Milliseconds between two looks at a session: the SDK marks a receiver that has ended, and tells nobody. */
const lookMs = 20;

interface SessionState {
  version: string;
  record?: string | undefined;
}
const sessionState = orNull(fieldsOf<SessionState>({ version: aText, record: orElse(aText, undefined) }));

/**
 * A lock store on the sessions of a Service Bus queue (Standard or Premium) that never has a message. To acquire a lock is
 * to accept the session of its key; the record with its fence is the state of the session.
 *
 * - What ends a lease: the queue's LockDuration without a renewal, or the end of its receiver. No other process can renew
 *   or release it. If only the connection is lost, its holder loses it at once, and others wait until the lock has run out
 *   (https://learn.microsoft.com/azure/service-bus-messaging/message-sessions). Service Bus closes a link after ten idle
 *   minutes; a renewal counts as use (https://github.com/Azure/azure-sdk-for-net/issues/30310).
 * - What the queue must have: RequiresSession, and the LockDuration given here. `acquire` rejects if it differs.
 * - What breaks it: a failover to a paired namespace, which has no state: its fences rise only if its clock is not
 *   behind (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-geo-dr). A stale holder cannot move a fence: the
 *   broker refuses its state.
 *
 * Only the holder can look at a lock. The store makes its own clients with `connect`, and closes them.
 *
 * @throws RangeError unless `lockDurationMs` is whole seconds, from 1 to 300.
 */
export function serviceBusLockStore(
  connect: ConnectServiceBus,
  queue: string,
  { lockDurationMs = 30_000 }: ServiceBusLockOptions = {},
): LockStore {
  if (!(lockDurationMs % 1000 === 0 && lockDurationMs >= 1000 && lockDurationMs <= 300_000)) {
    throw new RangeError(`LockDuration is 1 to 300 whole seconds, not ${lockDurationMs} ms`);
  }
  const connections = serviceBusConnections(connect);
  const lockQueue = { name: queue, lockDurationMs, proven: false };
  const sessions = new Map<string, Session>();

  /** When a lock that was granted or renewed by now has run out at the latest. */
  const runOut = () => performance.now() + lockDurationMs;

  /** The session of this lock, while this process may have it. */
  function current(key: string): Session | undefined {
    checkKey(key);
    const session = sessions.get(key);
    if (session === undefined) return undefined;
    const over = performance.now() > session.endsBy;
    if (!over && !session.receiver.isClosed) return session;
    // An open link should have told of its end: this connection has gone silent.
    if (over) connections.retire(session.connection);
    forget(key, session);
    return undefined;
  }

  function heldBy(key: string, leaseId: string): Session | undefined {
    const session = current(key);
    return session?.leaseId === leaseId ? session : undefined;
  }

  function forget(key: string, session: Session): void {
    if (sessions.get(key) !== session) return;
    sessions.delete(key);
    connections.leave(session.connection);
  }

  async function accept(key: string, leaseId: string, signal: AbortSignal): Promise<'acquired' | 'held'> {
    const connection = connections.take();
    const accepting = () => acceptLockSession(connection.client, lockQueue, key, signal);
    try {
      const receiver = await untilAborted(signal, accepting);
      if (receiver === undefined) {
        connections.leave(connection);
        return 'held';
      }
      sessions.set(key, { leaseId, receiver, connection, endsBy: runOut() });
      return 'acquired';
    } catch (error) {
      connections.retire(connection);
      connections.leave(connection);
      throw error;
    }
  }

  /** False if the session was lost. */
  async function renewed(key: string, session: Session, abortSignal: AbortSignal): Promise<boolean> {
    const renewing = () => unless('SessionLockLost', session.receiver.renewSessionLock({ abortSignal }));
    const until = await untilAborted(abortSignal, renewing);
    if (until === undefined || current(key) !== session) {
      forget(key, session);
      return false;
    }
    session.endsBy = runOut();
    return true;
  }

  async function stateOf(session: Session, abortSignal: AbortSignal): Promise<SessionState> {
    const read = () => session.receiver.getSessionState({ abortSignal });
    session.state ??= sessionState(await untilAborted(abortSignal, read)) ?? {
      version: 'new',
    };
    return session.state;
  }

  return {
    traits: serviceBusTraits(lockDurationMs),
    isPermanent: serviceBusDenies,

    async look(key, signal) {
      const session = current(key);
      if (session === undefined) throw new Error('Only the holder of a session can look at its state');
      const { version, record } = await stateOf(session, signal);
      const now = session.receiver.sessionLockedUntilUtc.getTime() - lockDurationMs;
      return { held: true, record: recordFromText(record), version, now };
    },

    /** Sessions need not be created. */
    async create(key) {
      return { held: current(key) !== undefined, record: undefined, version: '' };
    },

    async acquire(key, leaseId, _leaseMs, signal) {
      const session = current(key);
      if (session !== undefined && session.leaseId !== leaseId) return 'held';
      if (session !== undefined && (await renewed(key, session, signal))) return 'acquired';
      return accept(key, leaseId, signal);
    },

    async raise(key, leaseId, record, version, signal) {
      const next = { key, version: randomUUID(), record: recordToText(record) };
      const session = heldBy(key, leaseId);
      if (session === undefined) return taken;
      const write = async (): Promise<'raised' | 'changed'> => {
        if ((await stateOf(session, signal)).version !== version) return 'changed';
        session.state = undefined;
        await session.receiver.setSessionState(next, { abortSignal: signal });
        session.state = next;
        return 'raised';
      };
      return (await untilAborted(signal, () => unless('SessionLockLost', write()))) ?? taken;
    },

    async renew(key, leaseId, _leaseMs, signal) {
      const session = heldBy(key, leaseId);
      return session !== undefined && (await renewed(key, session, signal)) ? 'renewed' : taken;
    },

    async release(key, leaseId, signal) {
      const session = heldBy(key, leaseId);
      if (session === undefined) return 'gone';
      sessions.delete(key);
      try {
        await untilAborted(signal, () => session.receiver.close());
      } finally {
        connections.leave(session.connection);
      }
      return 'released';
    },

    onEnd(key, leaseId, tell) {
      const session = heldBy(key, leaseId);
      const watching = setInterval(() => {
        if (session !== undefined && heldBy(key, leaseId) === session) return;
        clearInterval(watching);
        tell(taken);
      }, lookMs).unref();
    },

    async [Symbol.asyncDispose]() {
      sessions.clear();
      await connections[Symbol.asyncDispose]();
    },
  };
}

const taken: Refusal = { kind: 'refused', reason: 'taken', detail: 'this process does not have the session' };

/** Every lease lasts for the LockDuration. */
function serviceBusTraits(lockDurationMs: number): StoreTraits {
  return {
    lease: { minMs: lockDurationMs, maxMs: lockDurationMs, stepMs: 1_000 },
    expiryLagMs: 1_000,
    keptBy: 'connection',
    looks: 'holder',
  };
}
