import {
  type DeadLetter,
  type DeadLetterSource,
  deadLetterPlace,
  deadLettersOf,
  type Moved,
  matchesLetter,
} from '@payonce/jobs/dead-letters';
import { continuationAt, placeOf } from '@payonce/jobs/documents';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { deadLettersAnswer, discardedAnswer, redrivenAnswer } from './answers/messageAnswers.ts';
import { type AuditRecorder, call } from './call.ts';
import { continuationQuery, partOf, periodFields, reasonSchema } from './fields.ts';
import { badQuery, unavailable } from './refusals.ts';

const pageSize = 100;
/** Dead letters that one request looks at, at most: those that match are counted for the total of a first page. */
const mostSeen = 5_000;

const idsSchema = z.array(z.string().min(1)).min(1).max(pageSize);

export const deadLetterCalls = {
  listDeadLetters: call({
    method: 'GET',
    route: 'ops/dead-letters',
    tag: 'Messages',
    summary: 'A page of the dead letters, queue by queue',
    query: z.object({
      queue: z.string().exactOptional(),
      reason: partOf('a reason'),
      ...periodFields,
      ...continuationQuery.shape,
    }),
    answer: { json: deadLettersAnswer },
    async handle({ query: { continuation, ...filter } }, { deadLetters }) {
      const names = deadLetters.map(({ name }) => name);
      if (filter.queue !== undefined && !names.includes(filter.queue)) {
        const error = `expected one of ${names.join(', ')}, got ${JSON.stringify(filter.queue)}`;
        return badQuery([{ field: 'queue', error }]);
      }
      const from = continuation === undefined ? undefined : placeOf(deadLetterPlace, continuation);
      const found: DeadLetter[] = [];
      let end: DeadLetter | undefined;
      let total = 0;
      let seen = 0;
      let more = false;
      for await (const letter of deadLettersOf(deadLetters, filter, from)) {
        if (seen >= mostSeen || (total > pageSize && from !== undefined)) {
          more = true;
          break;
        }
        seen++;
        if (matchesLetter(letter, filter)) total++;
        if (total > pageSize) continue;
        // A page ends with the last one that was looked at, so that no page is read twice.
        end = letter;
        if (matchesLetter(letter, filter)) found.push(letter);
      }
      const next = more || total > pageSize ? end : undefined;
      return {
        jsonBody: {
          deadLetters: found.map(({ id, source, reason, at, body }) => ({ id, source, reason, at, body })),
          ...(from === undefined ? { total, totalIsExact: !more } : {}),
          continuation:
            next === undefined ? null : continuationAt({ source: next.source, behind: next.place }),
        },
      };
    },
  }),
  redriveDeadLetters: call({
    method: 'POST',
    audit: 'redrive dead letter',
    route: 'ops/dead-letters/redrive',
    tag: 'Messages',
    summary: 'Sends dead letters again',
    body: z.strictObject({ ids: idsSchema, reason: reasonSchema.optional() }),
    targets: ({ ids }) => ids,
    answer: { json: redrivenAnswer },
    problems: [503],
    async handle({ body: { ids, reason = null }, record }, { deadLetters }) {
      const redrive = (source: DeadLetterSource, own: ReadonlySet<string>) => source.redrive(own);
      const moved = await moveEach(deadLetters, ids, redrive, { what: 'sent again', reason, record });
      return moved.failed ?? { jsonBody: { redriven: moved.done, ...moved.undone } };
    },
  }),
  discardDeadLetters: call({
    method: 'POST',
    audit: 'discard dead letter',
    route: 'ops/dead-letters/discard',
    tag: 'Messages',
    summary: 'Throws dead letters away',
    body: z.strictObject({ ids: idsSchema, reason: reasonSchema }),
    targets: ({ ids }) => ids,
    answer: { json: discardedAnswer },
    problems: [503],
    async handle({ caller: { actor: by }, body: { ids, reason }, record }, { deadLetters }) {
      const discard = (source: DeadLetterSource, own: ReadonlySet<string>) =>
        source.discard(own, { reason, by });
      const moved = await moveEach(deadLetters, ids, discard, { what: 'discarded', reason, record });
      return moved.failed ?? { jsonBody: { discarded: moved.done, ...moved.undone } };
    },
  }),
};

/** Does something to the dead letters of each source, side by side, and audits each one as soon as it is done. */
async function moveEach(
  sources: readonly DeadLetterSource[],
  ids: readonly string[],
  move: (source: DeadLetterSource, own: ReadonlySet<string>) => AsyncIterable<Moved>,
  { what, reason, record }: { what: string; reason: string | null; record: AuditRecorder },
) {
  const wanted = [...new Set(ids)];
  const done = new Set<string>();
  const left = new Map<string, string>();
  const failures: string[] = [];
  await Promise.all(
    sources.map(async (source) => {
      const own = new Set(wanted.filter((id) => source.owns(id)));
      if (own.size === 0) return;
      try {
        for await (const moved of move(source, own)) {
          if (moved.kind === 'left') {
            left.set(moved.id, moved.why);
            continue;
          }
          done.add(moved.id);
          await record(moved.id, { queue: source.name, reason });
        }
      } catch (error) {
        failures.push(`${source.name}: ${errorText(error)}`);
      }
    }),
  );
  const moved = wanted.filter((id) => done.has(id));
  if (failures.length > 0) {
    const so = moved.length === 0 ? `none was ${what}` : `${what}: ${moved.join(', ')}`;
    return { failed: unavailable(`${so}; then: ${failures.join('; ')}`) };
  }
  const notFound = wanted.filter((id) => !done.has(id) && !left.has(id));
  const whyLeft = left.size === 0 ? {} : { left: [...left].map(([id, why]) => ({ id, why })) };
  return { done: moved, undone: { notFound, ...whyLeft } };
}
