import type { ContainerDefinition } from './containerDefinition.ts';
import { effectivePartitionKey } from './effectivePartitionKey.ts';
import { rangeGone } from './errors.ts';
import type { JsonValue } from './json.ts';

/** A partition key range: the items whose effective partition key is from `min` up to, but without, `max`. */
export interface Range {
  /** Its place among the ranges, which is its id too. */
  index: number;
  min: string;
  max: string;
}

/** The partition key ranges of one container. Together they cover all keys. */
export interface Ranges {
  readonly all: readonly Range[];
  /** The range of a partition key, given as canonical text. */
  of(partition: string): Range;
  /** @throws {CosmosError} 410 for a range that does not exist */
  byId(id: string): Range;
}

/** The space of hashes: the two highest of 128 bits are always 0. */
const hashBits = 126n;
const hexDigits = 32;

/** Keys whose range is remembered, because hashing one takes longer than reading an item. */
const maxRemembered = 10_000;

/** Splits a container's keys evenly. One of version 1 has a single range: the stand-in does not know its hash. */
export function rangesOf({ partitionKey }: ContainerDefinition, wanted: number): Ranges {
  const count = partitionKey.version === 2 ? wanted : 1;
  const boundary = (index: number) =>
    ((BigInt(index) << hashBits) / BigInt(count)).toString(16).toUpperCase().padStart(hexDigits, '0');
  const all = Array.from({ length: count }, (_, index) => ({
    index,
    min: index === 0 ? '' : boundary(index),
    max: index === count - 1 ? 'FF' : boundary(index + 1),
  }));
  const known = new Map<string, Range>();

  function find(partition: string): Range {
    // We wrote the text, so it is an array of values.
    const key = effectivePartitionKey(JSON.parse(partition) as JsonValue[]);
    const found = all.find(({ min, max }) => key >= min && key < max);
    if (found === undefined) throw new Error(`no partition key range holds ${key}`);
    return found;
  }

  return {
    all,
    of(partition) {
      const [only] = all;
      if (count === 1 && only !== undefined) return only;
      const remembered = known.get(partition);
      if (remembered !== undefined) return remembered;
      if (known.size >= maxRemembered) known.clear();
      const found = find(partition);
      known.set(partition, found);
      return found;
    },
    byId(id) {
      const found = all.find(({ index }) => String(index) === id);
      if (found !== undefined) return found;
      throw rangeGone(`There is no partition key range ${id}.`);
    },
  };
}
