import { createHash } from 'node:crypto';

/**
 * The shard of an invoice: two hex digits of a stable hash of its id, below the number of shards. Where a shard lives
 * never changes, so neither may the hash, nor the number of shards of a deployment.
 */
export function shardOf(invoiceId: string, shards: number): string {
  return shardName((createHash('sha256').update(invoiceId).digest()[0] ?? 0) % shards);
}

/** The names of all shards, in order. */
export function shardNames(shards: number): string[] {
  return Array.from({ length: shards }, (_, index) => shardName(index));
}

/** The shards of each group: group `g` has every shard whose number is `g` modulo the number of groups. */
export function shardsOfGroup(
  group: number,
  { shards, groups }: { shards: number; groups: number },
): string[] {
  return shardNames(shards).filter((_, index) => index % groups === group);
}

function shardName(index: number): string {
  return index.toString(16).padStart(2, '0');
}
