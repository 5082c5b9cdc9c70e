import {
  type DeadLetter,
  type DeadLetterSource,
  deadLettersOf,
  matchesLetter,
} from '@payonce/jobs/dead-letters';
import { allPages } from '@payonce/jobs/documents';
import type { OutboxStore } from '@payonce/jobs/outbox';
import { Idle, type RunCounts } from '@payonce/jobs/runs';
import pLimit from 'p-limit';
import { outboxFilter } from '../outboxCalls.ts';
import type { OnBehalf } from './bulkInvoices.ts';
import type { MessageFilter } from './bulkRequest.ts';

/** Parked messages of the outbox, or dead letters of one queue. */
export interface MessagePiece {
  kind: 'messages';
  /** `outbox`, or the name of the queue whose dead letters these are. */
  source: string;
  ids: string[];
  /** They were tried again and again, and are still there. Nothing more is done with them than to count them. */
  outOfReach?: true;
}

const pieceSize = 50;
/** Each piece of dead letters takes a pass over all that are in front of them: large pieces take few passes. */
const deadLetterPieceSize = 500;
/** Messages of the outbox that are changed side by side. */
const atOnce = 8;

export interface MessageParts {
  outbox: Pick<OutboxStore, 'list' | 'redrive' | 'discard'>;
  deadLetters: readonly DeadLetterSource[];
}

/** The messages that match and that this run has not redriven yet. A dry run sees each once. */
export async function* messagePieces(
  { outbox, deadLetters }: MessageParts,
  filter: MessageFilter,
  { runId, dryRun }: { runId: string; dryRun: boolean },
): AsyncGenerator<MessagePiece | Idle> {
  if (filter.from === 'outbox') yield* parkedMessages(outbox, filter, runId);
  else if (dryRun) yield* matching(deadLetters, filter);
  else yield* matchingDeadLetters(deadLetters, filter);
}

/** All are listed before the first is changed: messages of the same millisecond have no order, so one that leaves may hide another. */
async function* parkedMessages(
  outbox: MessageParts['outbox'],
  { from: _from, ...filter }: MessageFilter,
  runId: string,
): AsyncGenerator<MessagePiece> {
  const list = { ...outboxFilter(filter), status: 'parked' as const, pageSize: 500 };
  const ids: string[] = [];
  for await (const page of allPages((place) => outbox.list({ ...list, ...place })))
    ids.push(...page.flatMap(({ id, redrivenBy }) => (redrivenBy === runId ? [] : [id])));
  for (let at = 0; at < ids.length; at += pieceSize)
    yield { kind: 'messages', source: 'outbox', ids: ids.slice(at, at + pieceSize) };
}

/** Wait for messages that are still there, and waits in a row without progress: locks of a dead host end in a minute. */
const waitMs = 5_000;
const mostWaits = 30;

/**
 * Passes from the oldest on until nothing is left, or nothing goes any more: then the last piece says what is left. Only of
 * those that are there at first: one that is sent, fails and comes back at once would be sent in every pass.
 */
async function* matchingDeadLetters(
  sources: readonly DeadLetterSource[],
  filter: MessageFilter,
): AsyncGenerator<MessagePiece | Idle> {
  const atFirst = new Set<string>();
  for await (const letter of deadLettersOf(sources, filter)) atFirst.add(placeInAll(letter));
  let before = Number.POSITIVE_INFINITY;
  for (let waits = 0; waits < mostWaits;) {
    let found = 0;
    for await (const piece of matching(sources, filter, atFirst)) {
      found += piece.ids.length;
      yield piece;
    }
    if (found === 0) return;
    waits = found < before ? 0 : waits + 1;
    before = found;
    yield new Idle(waits === 0 ? 0 : waitMs);
  }
  for await (const piece of matching(sources, filter, atFirst)) yield { ...piece, outOfReach: true };
}

function placeInAll({ source, place }: DeadLetter): string {
  return `${source} ${place}`;
}

/** The dead letters that match, once each, source by source. `among`: their places; absent: anywhere. */
async function* matching(
  sources: readonly DeadLetterSource[],
  filter: MessageFilter,
  among?: ReadonlySet<string>,
): AsyncGenerator<MessagePiece> {
  for (const source of sources) {
    let ids: string[] = [];
    for await (const letter of deadLettersOf([source], filter)) {
      if (!matchesLetter(letter, filter) || among?.has(placeInAll(letter)) === false) continue;
      ids.push(letter.id);
      if (ids.length < deadLetterPieceSize) continue;
      yield { kind: 'messages', source: source.name, ids };
      ids = [];
    }
    if (ids.length > 0) yield { kind: 'messages', source: source.name, ids };
  }
}

type Action = 'redrive' | 'discard';
type Who = OnBehalf & { at: string; again: boolean };

/** Redrives or discards a piece. What an earlier try of the same run has done counts. */
export async function movePiece(
  parts: MessageParts,
  action: Action,
  { source, ids, outOfReach }: MessagePiece,
  who: Who,
): Promise<RunCounts> {
  if (outOfReach) return { outOfReach: ids.length };
  const name = action === 'redrive' ? 'redriven' : 'discarded';
  const moved =
    source === 'outbox'
      ? await moveParked(parts.outbox, action, ids, who)
      : await changeDeadLetters(parts.deadLetters, action, source, ids, who);
  return { [name]: moved };
}

async function moveParked(
  outbox: MessageParts['outbox'],
  action: Action,
  ids: readonly string[],
  { at, runId, actor: by, reason, assertHeld }: Who,
): Promise<number> {
  const limit = pLimit(atOnce);
  const moved = await Promise.all(
    ids.map((id) =>
      limit(async () => {
        assertHeld();
        if (action === 'redrive') {
          const redriven = await outbox.redrive(id, at, runId);
          if (redriven.kind !== 'refused') return redriven.kind === 'redriven';
          return redriven.redrivenBy === runId;
        }
        const discarded = await outbox.discard(id, { at, by, reason });
        if (discarded.kind !== 'refused') return discarded.kind === 'discarded';
        return discarded.discarded?.by === by && discarded.discarded.reason === reason;
      }),
    ),
  );
  return moved.filter(Boolean).length;
}

/** Dead letters carry no marks: of a piece that was cut off, those that are not there any more were done. */
async function changeDeadLetters(
  sources: readonly DeadLetterSource[],
  action: Action,
  name: string,
  ids: readonly string[],
  { actor: by, reason, again, assertHeld }: Who,
): Promise<number> {
  const source = sources.find((one) => one.name === name);
  if (source === undefined) return 0;
  const wanted = new Set(ids);
  const moved = new Set<string>();
  const moving = action === 'redrive' ? source.redrive(wanted) : source.discard(wanted, { by, reason });
  for await (const one of moving) {
    if (one.kind === 'moved') moved.add(one.id);
    assertHeld();
  }
  if (!again) return moved.size;
  for await (const { id } of deadLettersOf([source], {})) wanted.delete(id);
  return wanted.size;
}
