import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MinHeap } from '../../../src/serviceBus/broker/minHeap.ts';

test('pops in order, including after interleaved pushes and retain', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.integer()), (first, second) => {
      const heap = new MinHeap<number>((key) => key);
      for (const key of first) heap.push(key);
      const smallest = heap.pop();
      expect(smallest).toBe(first.length === 0 ? undefined : Math.min(...first));
      heap.retain((key) => key % 2 === 0);
      for (const key of second) heap.push(key);
      const rest = [...first].sort((a, b) => a - b).slice(1);
      const expected = [...rest.filter((key) => key % 2 === 0), ...second].sort((a, b) => a - b);
      expect(Array.from({ length: heap.size }, () => heap.pop())).toEqual(expected);
    }),
  );
});
