import { randomUUID } from 'node:crypto';
import type { Queue } from '../broker/queue.ts';
import { serveConsumer } from './consumer.ts';
import type { Namespace, Peer } from './peer.ts';
import { holdAttach, type OutgoingLink, types } from './rhea.ts';
import { lockLost } from './settlement.ts';

const filterName = 'com.microsoft:session-filter';
const defaultWaitMs = 60_000;

/** The session that a receiver asks for. `sessionId` undefined: any session. Undefined: no session at all. */
export function sessionFilter({ source }: OutgoingLink): { sessionId: string | undefined } | undefined {
  const filter = source?.filter as Record<string, unknown> | null | undefined;
  if (filter === null || filter === undefined || !(filterName in filter)) return undefined;
  const sessionId = filter[filterName];
  return { sessionId: typeof sessionId === 'string' ? sessionId : undefined };
}

/**
 * Serves a receiver of one session. If it asks for any session, its attach is answered when a session with
 * messages is free, or refused after the milliseconds in its property `com.microsoft:timeout`.
 */
export function serveSession(
  namespace: Namespace,
  peer: Peer,
  link: OutgoingLink,
  queue: Queue,
  wanted: string | undefined,
): void {
  const { broker, consumers } = namespace;
  const holder = randomUUID();

  function accept(): 'done' | 'noneFree' {
    const acceptance = queue.sessionLocks.accept(wanted, holder, broker.now());
    switch (acceptance.outcome) {
      case 'accepted':
        serveAccepted(namespace, peer, link, queue, { ...acceptance, holder });
        return 'done';
      case 'taken':
        link.close({
          condition: 'com.microsoft:session-cannot-be-locked',
          description: `The requested session "${wanted}" cannot be accepted. It may be locked by another receiver.`,
        });
        return 'done';
      case 'noneFree':
        return 'noneFree';
    }
  }

  if (accept() === 'done') return;
  holdAttach(link);
  const stopSeeking = consumers.seekSession(queue, () => {
    if (accept() === 'noneFree') return false;
    stopTimer();
    link.open();
    return true;
  });
  const stopTimer = broker.clock.after(timeoutOf(link), () => {
    stopSeeking();
    peer.cleanups.delete(link);
    link.open();
    link.close({
      condition: 'com.microsoft:timeout',
      description: 'No session became free within the timeout.',
    });
  });
  // If the client gives up: rhea can answer its detach only after an attach.
  peer.cleanups.set(link, () => {
    stopSeeking();
    stopTimer();
    link.open();
  });
}

function serveAccepted(
  namespace: Namespace,
  peer: Peer,
  link: OutgoingLink,
  queue: Queue,
  { sessionId, until, holder }: { sessionId: string; until: number; holder: string },
): void {
  const { broker, consumers } = namespace;
  link.local.attach.snd_settle_mode = link.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.rcv_settle_mode;
  link.set_source({ address: link.source.address, filter: { [filterName]: sessionId } });
  link.set_target({ address: link.target?.address ?? '' });
  link.local.attach.properties = { 'com.microsoft:locked-until-utc': types.wrap_long(dotnetTicks(until)) };
  peer.sessionHolders.add(holder);
  const stopServing = serveConsumer(namespace, peer, link, queue, sessionId);
  const stopWatching = consumers.watchSession(holder, () => {
    stopServing();
    link.close(lockLost(queue));
  });
  peer.cleanups.set(link, (ended) => {
    stopServing();
    stopWatching();
    peer.sessionHolders.delete(holder);
    // A receiver that is not closed keeps the session until its lock expires
    // (https://learn.microsoft.com/azure/service-bus-messaging/message-sessions).
    if (ended === 'closed') queue.sessionLocks.release(sessionId, holder, broker.now());
  });
}

function timeoutOf({ properties }: OutgoingLink): number {
  const timeout: unknown = properties?.['com.microsoft:timeout'];
  return typeof timeout === 'number' ? timeout : defaultWaitMs;
}

/** .NET ticks: 100 ns units since the year 1, as 8 bytes because they exceed a safe integer. */
function dotnetTicks(epochMs: number): Buffer {
  const ticks = Buffer.alloc(8);
  ticks.writeBigInt64BE(BigInt(Math.round(epochMs)) * 10_000n + 621_355_968_000_000_000n);
  return ticks;
}
