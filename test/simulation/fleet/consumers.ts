/** Hosts that take messages from queues, as the triggers of Service Bus and Queue Storage do (host.json). */
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { Network } from '../engine/network.ts';
import { messageTrustedUntil } from '../invariants/calls.ts';
import type { BusMessage } from '../world/serviceBus.ts';
import type { QueuedMessage } from '../world/storageQueue.ts';
import type { World } from '../world/world.ts';
import type { Host } from './host.ts';

export const concurrentBusCalls = 32;
/** `batchSize` and `newBatchThreshold` of host.json together. */
export const concurrentItems = 24;
const renewEveryMs = 30_000;
const renewForMs = 300_000;
const retryVisibilityMs = 10_000;
const mostDequeues = 5;

export interface ConsumerParts {
  world: World;
  network: Network;
  random: SeededRandom;
  /** Called when a host has room again. */
  hasRoom: () => void;
}

/** Hands a message of the queue of payment commands to a host. */
export function takeCommand(parts: ConsumerParts, host: Host, message: BusMessage, lockToken: string): void {
  const { world, network, hasRoom } = parts;
  const { machine, app } = host;
  const { commands } = world.queues;
  const { deliveryCount, messageId, text } = message;
  const enqueuedTimeUtc = new Date(message.sentAt).toISOString();
  const startedAt = machine.clock.monotonic();
  let over = false;
  const ask = (name: string, effect: () => unknown) =>
    network.call(machine, 'serviceBus', name, effect).catch(() => {});
  const keep = () =>
    machine.later(renewEveryMs, () => {
      if (over || machine.clock.monotonic() - startedAt >= renewForMs) return;
      void ask('host renews', () => commands.renew(lockToken));
      keep();
    });
  machine.later(1 + parts.random.between(0, 20), () => {
    host.run(
      'command',
      () => app.executePayments(JSON.parse(text), { lockToken, deliveryCount, messageId, enqueuedTimeUtc }),
      (_, failed) => {
        over = true;
        void ask(failed ? 'abandon' : 'complete', () =>
          failed ? commands.abandon(lockToken) : commands.complete(lockToken),
        );
        hasRoom();
      },
      { batchId: batchIdOf(text), trustedUntil: messageTrustedUntil(startedAt) },
    );
    keep();
  });
}

function batchIdOf(text: string): string {
  const { batchId } = JSON.parse(text) as { batchId?: string };
  return batchId ?? '';
}

/** Hands a message of the queue of work items to a host. */
export function takeItem(
  parts: ConsumerParts,
  host: Host,
  { id, text, receipt, dequeueCount }: QueuedMessage,
): void {
  const { workItems, poison } = parts.world.queues;
  take(
    parts,
    host,
    workItems,
    { id, receipt },
    {
      kind: 'item',
      work: () => host.app.processWorkItem(parsed(text)),
      giveUp: dequeueCount >= mostDequeues ? () => poison.put(text) : undefined,
    },
  );
}

/** Hands a message of the poison queue to a host. */
export function takePoison(
  parts: ConsumerParts,
  host: Host,
  { id, text, receipt, dequeueCount }: QueuedMessage,
): void {
  take(
    parts,
    host,
    parts.world.queues.poison,
    { id, receipt },
    {
      kind: 'poison',
      work: () => host.app.recordPoison(parsed(text), id),
      giveUp: dequeueCount >= mostDequeues ? () => parts.world.lost.push(text) : undefined,
    },
  );
}

function take(
  { network, random, hasRoom }: ConsumerParts,
  host: Host,
  queue: World['queues']['workItems'],
  { id, receipt }: { id: string; receipt: number },
  { kind, work, giveUp }: { kind: string; work: () => Promise<unknown>; giveUp: (() => unknown) | undefined },
): void {
  const { machine } = host;
  let over = false;
  const keep = () =>
    machine.later(renewForMs, () => {
      if (over) return;
      queue.keep(id, receipt);
      keep();
    });
  machine.later(1 + random.between(0, 20), () => {
    host.run(kind, work, (_, failed) => {
      over = true;
      void network
        .call(machine, 'storageQueue', failed ? 'give back' : 'delete', () => {
          if (!failed) queue.delete(id, receipt);
          else if (giveUp === undefined) queue.giveBack(id, receipt, retryVisibilityMs);
          else if (queue.delete(id, receipt)) giveUp();
        })
        .catch(() => {});
      hasRoom();
    });
    keep();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
