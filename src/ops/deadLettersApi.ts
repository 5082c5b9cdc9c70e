import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import { type Audit, actorOf } from './audit.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { readBody } from './requests.ts';

interface Dependencies {
  deadLetters: readonly DeadLetterSource[];
  audit: Audit;
}

const pageSize = 100;
const requestSchema = z.strictObject({ ids: z.array(z.string().min(1)).min(1).max(pageSize) });

/** `GET ops/dead-letters`: what was given up, of every queue, at most 100 each. */
export async function listDeadLetters({ deadLetters }: Dependencies): Promise<HttpResponseInit> {
  const lists = await Promise.all(deadLetters.map((source) => source.list(pageSize)));
  return { jsonBody: { deadLetters: lists.flat() } };
}

/** `POST ops/dead-letters/redrive` `{ids}`: sends those messages again. The answer names those that were not there. */
export async function redriveDeadLetters(
  request: HttpRequest,
  { deadLetters, audit }: Dependencies,
): Promise<HttpResponseInit> {
  const asked = await readBody(request, requestSchema);
  if (!asked.ok) return asked.response;
  const ids = new Set(asked.value.ids);
  const parts = await Promise.all(
    deadLetters.map(async (source) => {
      const own = new Set([...ids].filter((id) => source.owns(id)));
      return own.size === 0 ? [] : source.redrive(own);
    }),
  );
  const redriven = parts.flat();
  for (const target of redriven) {
    await audit({ actor: actorOf(request.headers), action: 'redrive dead letter', target });
  }
  const done = new Set(redriven);
  return { jsonBody: { redriven, notFound: [...ids].filter((id) => !done.has(id)) } };
}
