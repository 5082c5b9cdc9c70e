import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { createUnlessThere, fromCosmos, unlessRefused } from '../documents/cosmosDocuments.ts';
import type { Head, HeadBoard } from './headBoard.ts';

/** The document in the container `pace`, beside the schedules. */
const place = { id: 'heads', limit: 'heads' };

const boardSchema = z.object({
  groups: z.record(z.string(), z.object({ since: z.string(), at: z.number() })),
});

/** One document in the Cosmos container `pace`, in which each group has a field. */
export function cosmosHeadBoard(container: Container): HeadBoard {
  return {
    async tell(group, head) {
      const told = (await tell(group, head)) ?? (await createAndTell(group, head));
      return told === undefined ? [head] : Object.values(boardSchema.parse(told).groups);
    },
  };

  async function createAndTell(group: string, head: Head): Promise<unknown> {
    const document = { ...place, groups: {} };
    await fromCosmos(() => createUnlessThere(container, document));
    return tell(group, head);
  }

  async function tell(group: string, head: Head): Promise<unknown> {
    const operations = [{ op: 'set' as const, path: `/groups/${group}`, value: head }];
    const patched = await unlessRefused(() => container.item(place.id, place.limit).patch({ operations }));
    return patched?.resource;
  }
}
