import type { Container } from '@azure/cosmos';
import { fromCosmos, readDocument, unlessRefused } from '../documents/cosmosDocuments.ts';
import { formatVersion, readableDocument } from '../documents/storedDocuments.ts';
import { type PauseStore, pauseSchema } from './pause.ts';

/** Beside the schedules of the limits, because a pause concerns every call of the account, too. */
const pausePlace = { id: 'pause', limit: 'pause' };

/** The pause, as one document in the Cosmos container `pace`. */
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
