import { z } from 'zod';
import type { DocumentStore } from '../documents/documentStore.ts';
import { readableDocument, tolerantObject } from '../documents/storedDocuments.ts';
import { systemId } from '../documents/systemId.ts';
import { keepFirst } from '../documents/writeUntilClear.ts';
import { deploymentPartition } from '../invoice/shard.ts';
import type { Clock } from '../platform/clock.ts';

/** The provider's account that a deployment began with, and the name that it gives its payments there. */
export interface RecordedAccount {
  mode: string;
  deployment: string;
  /** Absent until a key that may read it comes along. */
  account?: string;
}

export interface AccountRecord {
  /** @throws {StoreAway} */
  find(): Promise<RecordedAccount | undefined>;
  /**
   * Records the account unless one is recorded; returns the recorded one. One that is recorded without its id, in the same
   * mode, gets it.
   *
   * @throws {StoreAway}
   */
  keep(given: RecordedAccount): Promise<RecordedAccount>;
}

/** The id of its document; see docs/deploy.md for what deleting it means. */
const place = { id: systemId('provider-account'), shard: deploymentPartition };

const schema = tolerantObject({
  type: z.literal('providerAccount'),
  mode: z.string(),
  deployment: z.string(),
  account: z.string().exactOptional(),
  _etag: z.string().exactOptional(),
});

/** The record beside the invoices, in the partition of what is true of the whole deployment. */
export function accountRecord(documents: DocumentStore, clock: Pick<Clock, 'now'>): AccountRecord {
  const stored = async () => {
    const [document] = await documents.read(place.shard, [place.id]);
    return document === undefined ? undefined : read(document);
  };
  return {
    find: stored,
    async keep(given) {
      const at = new Date(clock.now()).toISOString();
      const kept = read(await keepFirst(documents, { ...place, type: 'providerAccount', ...given, at }));
      const { account } = given;
      if (kept.account !== undefined || account === undefined || kept.mode !== given.mode) return kept;
      const { id, shard } = place;
      const version = kept._etag === undefined ? {} : { version: kept._etag };
      await documents.transact(shard, [{ kind: 'patch', id, ...version, set: { account } }]);
      // Somebody else was first, or our answer was lost: what is stored now counts.
      return (await stored()) ?? kept;
    },
  };
}

function read(document: unknown) {
  return readableDocument(document, schema, 'providerAccount');
}
