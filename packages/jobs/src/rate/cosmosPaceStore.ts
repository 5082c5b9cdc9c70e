import type { Container, PatchOperation } from '@azure/cosmos';
import { createUnlessThere, fromCosmos, readDocument, unlessRefused } from '../documents/cosmosDocuments.ts';
import { formatVersion, readableDocument } from '../documents/storedDocuments.ts';
import { type PaceStore, type PauseStore, pauseSchema, scheduleSchema } from './paceStore.ts';

/** Schedules in a Cosmos container with the partition key `/limit`: one document each. */
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

    async change(
      limit,
      { where: { epoch, nextFrom, nextBefore, atUntil, windowSince }, add = {}, set = {} },
    ) {
      // Conditions take no parameters. Numbers in decimals can end no text early.
      const terms = [
        `c.epoch = ${epoch}`,
        ...(nextFrom === undefined ? [] : [`c.next >= ${nextFrom}`]),
        ...(nextBefore === undefined ? [] : [`c.next < ${nextBefore}`]),
        ...(atUntil === undefined ? [] : [`c.at <= ${atUntil}`]),
        ...(windowSince === undefined ? [] : [`c.window.since = ${windowSince}`]),
      ];
      const operations: PatchOperation[] = [
        ...Object.entries(add)
          .filter(([, value]) => value !== 0)
          .map(([path, value]) => ({ op: 'incr' as const, path: `/${path.replace('.', '/')}`, value })),
        ...Object.entries(set).map(([name, value]) => ({ op: 'set' as const, path: `/${name}`, value })),
      ];
      const changed = await unlessRefused(() =>
        container.item(limit, limit).patch({ condition: `from c where ${terms.join(' and ')}`, operations }),
      );
      return changed === undefined ? undefined : scheduleSchema.parse(changed.resource);
    },
  };
}

/** Beside the schedules of the limits, because a pause concerns every call of the account, too. */
const pausePlace = { id: 'pause', limit: 'pause' };

/** The pause, as one document in the same container. */
export function cosmosPauseStore(container: Container): PauseStore {
  const { id, limit } = pausePlace;
  return {
    async read() {
      const document = await readDocument(container, limit, id);
      return document === undefined ? undefined : readableDocument(document, pauseSchema, 'pause');
    },

    async begin(pause) {
      await fromCosmos(() => container.items.upsert({ ...pause, ...pausePlace, version: formatVersion }));
    },

    async end({ at }, resumed) {
      const ended = await unlessRefused(() =>
        container.item(id, limit).patch({
          condition: `from c where c.at = ${JSON.stringify(at)} and not is_defined(c.resumedAt)`,
          operations: [
            { op: 'set', path: '/resumedAt', value: resumed.at },
            { op: 'set', path: '/resumedBy', value: resumed.by },
          ],
        }),
      );
      return ended !== undefined;
    },
  };
}
