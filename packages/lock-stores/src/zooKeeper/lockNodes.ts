/** Layout of a lock in ZooKeeper. */

import type { LinePlace, LockView } from '@payonce/leases';
import { checkKey } from '@payonce/leases';
import { recordFromText } from '../recordText.ts';
import { check, type NodeStat, type ZooKeeperOperation } from './zooKeeperRequests.ts';

/** The paths of a lock's nodes. */
export interface LockNodes {
  /** Stays. Its data is the record, or empty. */
  lock: string;
  /** Stays. Its data is the id of the last lease, or `brokenLeaseData`; its version rises with each acquire and break. */
  tenure: string;
  /** Ends with the session of the holder. Its creator has the lock. */
  lease: string;
}

/** A node of one who waits, below the lock. It ends with the session of the waiter's process. */
export interface WaiterNode {
  path: string;
  ticket: string;
}

/** A lock as it was read. */
export interface SeenLock {
  data: string;
  stat: NodeStat;
  lease: NodeStat | undefined;
}

export const brokenLeaseData = 'broken';

/** @throws RangeError for an empty key, or one longer than 1,024 characters. */
export function nodesOf(root: string, key: string): LockNodes {
  checkKey(key);
  const lock = `${root}/${nameOf(key)}`;
  return { lock, tenure: `${lock}/tenure`, lease: `${lock}/lease` };
}

/** The path of a waiter's node, without the number that ZooKeeper gives it. */
export const unnumbered = ({ lock }: LockNodes, ticket: string) => `${lock}/wait-${ticket}-`;

/** The waiters of the lock, in the order of asking, among the nodes below it. */
export function lineOf({ lock }: LockNodes, names: readonly string[]): WaiterNode[] {
  const waiters = names.flatMap((name) => {
    const [, ticket, number] = /^wait-(.{36})-(-?\d+)$/.exec(name) ?? [];
    return ticket === undefined ? [] : [{ path: `${lock}/${name}`, ticket, number: Number(number) }];
  });
  return waiters.toSorted((a, b) => a.number - b.number);
}

/** True if nobody waits before this one. */
export function isFirst([first]: readonly WaiterNode[], { ticket }: LinePlace): boolean {
  return first === undefined || first.ticket === ticket;
}

/** The part of the path that stands for a key. Works on code units, so that different texts stay different. */
function nameOf(key: string): string {
  return key.replaceAll(/[^A-Za-z0-9_-]/g, (char) => {
    const unit = char.charCodeAt(0);
    return unit < 0x100
      ? `=${unit.toString(16).padStart(2, '0')}`
      : `=u${unit.toString(16).padStart(4, '0')}`;
  });
}

export function keyOfNode(name: string): string {
  return name.replaceAll(/=u([0-9a-f]{4})|=([0-9a-f]{2})/g, (_, long?: string, short?: string) =>
    String.fromCharCode(Number.parseInt(long ?? short ?? '', 16)),
  );
}

export function viewOfNode({ data, stat, lease }: SeenLock): LockView {
  return { held: lease !== undefined, record: recordFromText(data), version: versionOfNode(stat) };
}

/** No two writes have the same, not even if the lock was deleted and created again in between. */
export function versionOfNode({ mzxid }: NodeStat): string {
  return String(mzxid);
}

/** Refused unless there is a lease, and nobody else has acquired or broken one since `tenure`. */
export function isOurs({ lease, tenure }: LockNodes, since: number): ZooKeeperOperation[] {
  return [check(lease), check(tenure, since)];
}
