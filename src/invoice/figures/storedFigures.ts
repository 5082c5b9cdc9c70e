import type { DocumentStore, Operation } from '../../documents/documentStore.ts';
import { keepFirst } from '../../documents/keepFirst.ts';
import {
  dayId,
  newDay,
  newStanding,
  type StandingFigures,
  standingId,
  standingSchema,
} from './figureDocument.ts';

/** The figures of a shard. The first to ask, at `now` (milliseconds), creates them. @throws {StoreAway} */
export async function standingOf(
  documents: DocumentStore,
  shard: string,
  now: number,
): Promise<StandingFigures> {
  const [stored] = await documents.read(shard, [standingId]);
  if (stored !== undefined) return standingSchema.parse(stored);
  await keepFirst(documents, newStanding(shard, now));
  const [created] = await documents.read(shard, [standingId]);
  return standingSchema.parse(created);
}

/** Creates the figures of the days that these operations change, unless they are there. @throws {StoreAway} */
export async function createDays(
  documents: DocumentStore,
  shard: string,
  operations: readonly Operation[],
): Promise<void> {
  const days = operations.flatMap((one) =>
    one.kind === 'patch' && one.id.startsWith(dayId('')) ? [one.id.slice(dayId('').length)] : [],
  );
  for (const day of new Set(days)) await keepFirst(documents, newDay(shard, day));
}
