/**
 * What became of work items that every delivery failed for, as documents in the container `workItems`:
 *
 *   poison ──redrive (a person, through ops)──► redriven
 *
 * The queue moves such a message to its poison queue without a word of why, so each failure leaves its error behind
 * (status `failed`, one document per work item, the last one stays), and the poison record takes it over.
 */
import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosStatus, isAway, statusOf } from '../documents/cosmosErrors.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import { errorText } from '../platform/errorText.ts';
import type { Stage } from './defineStage.ts';
import { readWorkItem } from './processWorkItem.ts';
import { afresh, effectName, workItemSchema } from './workItem.ts';

const poisonSchema = z.object({
  id: z.string(),
  resourceId: z.string(),
  status: z.enum(['poison', 'redriven']),
  /** The message as it was. */
  text: z.string(),
  reason: z.string(),
  at: z.string(),
  _etag: z.string(),
});
export type PoisonItem = z.infer<typeof poisonSchema>;

const countSchema = z.tuple([z.number()]);

/** Where messages stand whose resource cannot be read. */
const unreadable = '(unreadable)';
const idPrefix = 'poison:';
const longestReason = 1_000;
/** Seconds that a failure is kept for a poison record to take over: most work succeeds at a later try. 30 days. */
const failureTtl = 30 * 24 * 3600;
/**
 * For how long a record is tried while the store is away, in milliseconds: within the 10 minutes that a function may take
 * (host.json). What fails here five times nobody looks at any more.
 */
const longestRecordingMs = 8 * 60_000;
/** Milliseconds between the tries: 1 s, 2 s, 4 s … 30 s. */
const backoff = { base: 1_000, cap: 30_000 };

/** Whether an id is that of a poison record. */
export function isPoisonId(id: string): boolean {
  return id.startsWith(idPrefix);
}

export interface PoisonItems {
  /** Keeps the error of a delivery that failed, for the day that the message turns out to be poison. */
  noteFailure(message: unknown, error: unknown): Promise<void>;
  /** Records a message of the poison queue, once, also if the store is away for minutes: `messageId` is the queue's. */
  record(message: unknown, messageId: string): Promise<PoisonItem['reason']>;
  list(limit: number): Promise<PoisonItem[]>;
  /** How many wait to be sent again, in all. */
  waiting(): Promise<number>;
  /**
   * Sends a recorded message again, as if it had never been tried, then marks it; false where another has, or there is
   * none.
   */
  redrive(item: PoisonItem, send: (text: string) => Promise<unknown>): Promise<boolean>;
}

export function poisonItems(container: Container, stages: readonly Stage[], clock: Clock): PoisonItems {
  const iso = () => new Date(clock.now()).toISOString();
  const failureId = (item: Parameters<typeof effectName>[0]) => `failure:${effectName(item)}`;

  async function whyItFailed(message: unknown): Promise<string> {
    try {
      const { item } = readWorkItem(stages, message);
      const { resource } = await container.item(failureId(item), item.resourceId).read<{ error?: string }>();
      return `every delivery failed; the last: ${resource?.error ?? 'no error was left behind'}`;
    } catch (error) {
      if (isAway(error)) throw error;
      return errorText(error);
    }
  }

  async function recordOnce(message: unknown, messageId: string): Promise<string> {
    const reason = brief(await whyItFailed(message));
    const parsed = workItemSchema.safeParse(message);
    const resourceId = parsed.success ? parsed.data.resourceId : unreadable;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    try {
      const status = 'poison';
      const at = iso();
      await container.items.create({ id: `${idPrefix}${messageId}`, resourceId, status, text, reason, at });
    } catch (error) {
      if (statusOf(error) !== cosmosStatus.conflict) throw error;
    }
    return reason;
  }

  return {
    async noteFailure(message, error) {
      const parsed = workItemSchema.safeParse(message);
      if (!parsed.success) return;
      const { resourceId, stage } = parsed.data;
      await container.items.upsert({
        id: failureId(parsed.data),
        resourceId,
        stage,
        status: 'failed',
        error: brief(errorText(error)),
        at: iso(),
        ttl: failureTtl,
      });
    },

    async record(message, messageId) {
      const until = clock.monotonic() + longestRecordingMs;
      for (let tried = 1; ; tried++) {
        try {
          return await recordOnce(message, messageId);
        } catch (error) {
          const waitMs = exponentialBackoff(tried, backoff);
          if (!isAway(error) || clock.monotonic() + waitMs > until) throw error;
          await clock.sleep(waitMs);
        }
      }
    },

    async list(limit) {
      const query = {
        query: `SELECT * FROM c WHERE c.status = 'poison' OFFSET 0 LIMIT @limit`,
        parameters: [{ name: '@limit', value: limit }],
      };
      const { resources } = await container.items.query(query).fetchAll();
      return resources.map((item) => poisonSchema.parse(item));
    },

    async waiting() {
      const query = `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'poison'`;
      const { resources } = await container.items.query<unknown>(query).fetchAll();
      return countSchema.parse(resources)[0];
    },

    async redrive({ id, resourceId, text, _etag }, send) {
      const item = container.item(id, resourceId);
      const { resource } = await item.read<{ status: string; _etag: string }>();
      if (resource?.status !== 'poison' || resource._etag !== _etag) return false;
      // Sent before it is marked: a crash in between sends it twice, and the recorded effect makes that harmless.
      await send(afresh(text));
      try {
        await item.patch(
          [
            { op: 'set', path: '/status', value: 'redriven' },
            { op: 'set', path: '/redrivenAt', value: iso() },
          ],
          { accessCondition: { type: 'IfMatch', condition: _etag } },
        );
      } catch (error) {
        if (statusOf(error) !== cosmosStatus.preconditionFailed) throw error;
      }
      return true;
    },
  };
}

/** Cut to a length that lists can show, and not through the middle of a character. */
function brief(text: string): string {
  return text.slice(0, longestReason).toWellFormed();
}
