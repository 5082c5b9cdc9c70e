import type { Container, PatchOperation } from '@azure/cosmos';
import { createUnlessThere, readDocument, unlessRefused } from '../documents/cosmosDocuments.ts';
import { readableDocument } from '../documents/storedDocuments.ts';
import type { PaceStore, ScheduleCondition } from './paceStore.ts';
import { scheduleSchema } from './schedule.ts';

/** Schedules in the Cosmos container `pace`, whose partition key is the limit: one document each. */
export function cosmosPaceStore(container: Container): PaceStore {
  return {
    async read(limit) {
      const document = await readDocument(container, limit, limit);
      return document === undefined ? undefined : readableDocument(document, scheduleSchema, 'schedule');
    },

    async create(limit, schedule) {
      const document = { ...schedule, id: limit, limit };
      await createUnlessThere(container, document);
    },

    async change(limit, { where, add = {}, set = {} }) {
      const operations: PatchOperation[] = [
        ...Object.entries(add)
          .filter(([, value]) => value !== 0)
          .map(([path, value]) => ({ op: 'incr' as const, path: `/${path.replace('.', '/')}`, value })),
        ...Object.entries(set).map(([name, value]) => ({ op: 'set' as const, path: `/${name}`, value })),
      ];
      const changed = await unlessRefused(() =>
        container.item(limit, limit).patch({ condition: conditionOf(where), operations }),
      );
      return changed === undefined ? undefined : scheduleSchema.parse(changed.resource);
    },
  };
}

/** Conditions take no parameters. Numbers in decimals can end no text early. */
function conditionOf({ epoch, nextFrom, nextBefore, atUntil, windowSince }: ScheduleCondition): string {
  const terms = [
    `c.epoch = ${epoch}`,
    ...(nextFrom === undefined ? [] : [`c.next >= ${nextFrom}`]),
    ...(nextBefore === undefined ? [] : [`c.next < ${nextBefore}`]),
    ...(atUntil === undefined ? [] : [`c.at <= ${atUntil}`]),
    ...(windowSince === undefined ? [] : [`c.window.since = ${windowSince}`]),
  ];
  return `from c where ${terms.join(' and ')}`;
}
