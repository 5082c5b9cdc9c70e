import { z } from 'zod';
import type { DocumentStore } from '../documents/documentStore.ts';
import { keepFirst } from '../documents/keepFirst.ts';
import { readableDocument, tolerantObject } from '../documents/storedDocuments.ts';
import { deploymentPartition } from '../invoice/shard.ts';
import type { Clock } from '../platform/clock.ts';

/** The provider's account that a deployment began with. */
export interface RecordedAccount {
  mode: string;
  /** Absent until a key that may read it comes along. */
  account?: string;
}

export interface AccountRecord {
  /**
   * Records the account unless one is recorded; returns the recorded one. One that is recorded without its id, in the same
   * mode, gets it.
   *
   * @throws {StoreAway}
   */
  keep(given: RecordedAccount): Promise<RecordedAccount>;
}

/** The id of its document; see docs/deploy.md for what deleting it means. */
const place = { id: 'provider-account', shard: deploymentPartition };

const schema = tolerantObject({
  type: z.literal('providerAccount'),
  mode: z.string(),
  account: z.string().exactOptional(),
  _etag: z.string().exactOptional(),
});

/** The record beside the invoices, in the partition of what is true of the whole deployment. */
export function accountRecord(documents: DocumentStore, clock: Pick<Clock, 'now'>): AccountRecord {
  return {
    async keep(given) {
      const at = new Date(clock.now()).toISOString();
      const stored = read(await keepFirst(documents, { ...place, type: 'providerAccount', ...given, at }));
      const { account } = given;
      if (stored.account !== undefined || account === undefined || stored.mode !== given.mode) return stored;
      const { id, shard } = place;
      const version = stored._etag === undefined ? {} : { version: stored._etag };
      await documents.transact(shard, [{ kind: 'patch', id, ...version, set: { account } }]);
      // Whoever was first, or if the answer was lost: what is stored now counts.
      const [now] = await documents.read(shard, [id]);
      return now === undefined ? stored : read(now);
    },
  };
}

function read(document: unknown) {
  return readableDocument(document, schema, 'providerAccount');
}
