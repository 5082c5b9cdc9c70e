import { z } from 'zod';
import { BadContinuation, fromOpaque, toOpaque } from '../documents/pages.ts';
import { errorText } from '../platform/errorText.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import {
  type DeadLetter,
  type DeadLetterPlace,
  type DeadLetterSource,
  deadLettersOf,
  isAskedFor,
  type Moved,
} from './deadLetters.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { timeField } from './invoiceQuery.ts';
import { badQuery, readBody, readQuery, reasonSchema } from './requests.ts';

interface Parts {
  deadLetters: readonly DeadLetterSource[];
  audit: AuditTrail;
  /** Who calls, for the audit trail. */
  actor: string;
}

const pageSize = 100;
/** Dead letters that one request looks at, at most: those that match are counted for the total of a first page. */
const mostSeen = 5_000;

export const deadLettersQuery = z.object({
  queue: z.string().exactOptional(),
  reason: z.string().min(1, { error: 'expected part of a reason' }).exactOptional(),
  before: timeField.exactOptional(),
  after: timeField.exactOptional(),
  continuation: z.string().exactOptional(),
});

const placeSchema = z.object({ source: z.string(), behind: z.string().exactOptional() });

/**
 * `GET ops/dead-letters?queue=&reason=&before=&after=&continuation=`: a page of what was given up, queue by queue. The first
 * page says how many there are.
 */
export async function listDeadLetters(
  request: OpsRequest,
  { deadLetters }: Pick<Parts, 'deadLetters'>,
): Promise<OpsResponse> {
  const query = readQuery(request, deadLettersQuery);
  if (!query.ok) return query.response;
  const { continuation, ...filter } = query.value;
  const names = deadLetters.map(({ name }) => name);
  if (filter.queue !== undefined && !names.includes(filter.queue)) {
    return badQuery([
      { field: 'queue', error: `expected one of ${names.join(', ')}, got ${JSON.stringify(filter.queue)}` },
    ]);
  }
  let from: DeadLetterPlace | undefined;
  try {
    from = continuation === undefined ? undefined : placeOf(continuation);
  } catch {
    return badQuery([
      { field: 'continuation', error: 'expected what an earlier page gave as "continuation"' },
    ]);
  }
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
    if (isAskedFor(letter, filter)) total++;
    if (total > pageSize) continue;
    // A page ends with the last one that was looked at, so that no page is read twice.
    end = letter;
    if (isAskedFor(letter, filter)) found.push(letter);
  }
  const goesOn = end !== undefined && (more || total > pageSize);
  return {
    jsonBody: {
      deadLetters: found.map(({ id, source, reason, at, body }) => ({ id, source, reason, at, body })),
      ...(from === undefined ? { total, totalIsExact: !more } : {}),
      continuation: goesOn && end !== undefined ? placeText({ source: end.source, behind: end.place }) : null,
    },
  };
}

const idsSchema = z.array(z.string().min(1)).min(1).max(pageSize);
export const redriveSchema = z.strictObject({ ids: idsSchema, reason: reasonSchema.optional() });
export const discardSchema = z.strictObject({ ids: idsSchema, reason: reasonSchema });

/**
 * `POST ops/dead-letters/redrive` `{ids, reason?}`: sends those messages again. The answer names those that were not there,
 * and says of those that are there, but out of reach, why. Each is audited as soon as it is sent; if a source fails after
 * that, the answer is a problem that names what was sent.
 */
export async function redriveDeadLetters(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const asked = await readBody(request, redriveSchema);
  if (!asked.ok) return asked.response;
  const { ids, reason } = asked.value;
  const wanted = new Set(ids);
  const { done, failures, others } = await ofEach(parts, wanted, {
    action: 'redrive dead letter',
    reason,
    act: (source, own) => source.redrive(own),
  });
  if (failures.length > 0) return failed('sent again', done, failures);
  return { jsonBody: { redriven: done, ...others } };
}

/** `POST ops/dead-letters/discard` `{ids, reason}`: throws those messages away for good. Audited one by one, as above. */
export async function discardDeadLetters(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const asked = await readBody(request, discardSchema);
  if (!asked.ok) return asked.response;
  const { ids, reason } = asked.value;
  const wanted = new Set(ids);
  const { done, failures, others } = await ofEach(parts, wanted, {
    action: 'discard dead letter',
    reason,
    act: (source, own) => source.discard(own, { reason, by: parts.actor }),
  });
  if (failures.length > 0) return failed('discarded', done, failures);
  return { jsonBody: { discarded: done, ...others } };
}

interface Outcome {
  done: string[];
  failures: string[];
  /** What the answer says of the other ids. */
  others: { notFound: string[]; left?: { id: string; why: string }[] };
}

/** Does something to the dead letters of each source, side by side, and audits each one that is done. */
async function ofEach(
  { deadLetters, audit, actor }: Parts,
  ids: ReadonlySet<string>,
  {
    action,
    reason,
    act,
  }: {
    action: string;
    reason: string | undefined;
    act: (source: DeadLetterSource, own: ReadonlySet<string>) => AsyncIterable<Moved>;
  },
): Promise<Outcome> {
  const done = new Set<string>();
  const left = new Map<string, string>();
  const failures: string[] = [];
  await Promise.all(
    deadLetters.map(async (source) => {
      const own = new Set([...ids].filter((id) => source.owns(id)));
      if (own.size === 0) return;
      try {
        for await (const moved of act(source, own)) {
          const { id: target } = moved;
          if (moved.kind === 'left') {
            left.set(target, moved.why);
            continue;
          }
          done.add(target);
          await audit.append({
            actor,
            action,
            target,
            detail: { queue: source.name, reason: reason ?? null },
          });
        }
      } catch (error) {
        failures.push(`${source.name}: ${errorText(error)}`);
      }
    }),
  );
  const notFound = [...ids].filter((id) => !done.has(id) && !left.has(id));
  const whyLeft = left.size === 0 ? {} : { left: [...left].map(([id, why]) => ({ id, why })) };
  return { done: [...ids].filter((id) => done.has(id)), failures, others: { notFound, ...whyLeft } };
}

function failed(what: string, done: readonly string[], failures: readonly string[]): OpsResponse {
  const so = done.length === 0 ? `none was ${what}` : `${what}: ${done.join(', ')}`;
  return problemResponse(problem(503, `${so}; then: ${failures.join('; ')}`));
}

function placeText(place: DeadLetterPlace): string {
  return toOpaque(JSON.stringify(place));
}

function placeOf(continuation: string): DeadLetterPlace {
  try {
    return placeSchema.parse(JSON.parse(fromOpaque(continuation)));
  } catch (cause) {
    throw new BadContinuation('not a place among the dead letters', { cause });
  }
}
