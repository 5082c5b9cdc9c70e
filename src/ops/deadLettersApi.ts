import { z } from 'zod';
import { errorText } from '../platform/errorText.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { readBody } from './requests.ts';

interface Parts {
  deadLetters: readonly DeadLetterSource[];
  audit: AuditTrail;
  /** Who calls, for the audit trail. */
  actor: string;
}

const pageSize = 100;
export const redriveSchema = z.strictObject({ ids: z.array(z.string().min(1)).min(1).max(pageSize) });

/** `GET ops/dead-letters`: what was given up, of every queue, at most 100 each. */
export async function listDeadLetters({ deadLetters }: Pick<Parts, 'deadLetters'>): Promise<OpsResponse> {
  const lists = await Promise.all(deadLetters.map((source) => source.list(pageSize)));
  return { jsonBody: { deadLetters: lists.flat() } };
}

/**
 * `POST ops/dead-letters/redrive` `{ids}`: sends those messages again. The answer names those that were not there. Each is
 * audited as soon as it is sent; if a source fails after that, the answer is a problem that names what was sent.
 */
export async function redriveDeadLetters(
  request: OpsRequest,
  { deadLetters, audit, actor }: Parts,
): Promise<OpsResponse> {
  const asked = await readBody(request, redriveSchema);
  if (!asked.ok) return asked.response;
  const ids = new Set(asked.value.ids);
  const done = new Set<string>();
  const failures: string[] = [];
  await Promise.all(deadLetters.map(redriveOwn));
  const redriven = [...ids].filter((id) => done.has(id));
  if (failures.length > 0) {
    const sent = redriven.length === 0 ? 'none was sent again' : `sent again: ${redriven.join(', ')}`;
    return problemResponse(problem(503, `${sent}; then: ${failures.join('; ')}`));
  }
  return { jsonBody: { redriven, notFound: [...ids].filter((id) => !done.has(id)) } };

  async function redriveOwn(source: DeadLetterSource): Promise<void> {
    const own = new Set([...ids].filter((id) => source.owns(id)));
    if (own.size === 0) return;
    try {
      for await (const target of source.redrive(own)) {
        done.add(target);
        await audit.append({ actor, action: 'redrive dead letter', target });
      }
    } catch (error) {
      failures.push(`${source.name}: ${errorText(error)}`);
    }
  }
}
