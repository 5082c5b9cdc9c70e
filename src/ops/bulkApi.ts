import type { Instance } from '../platform/instance.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import { type Orchestrations, startRun } from '../runs/startRun.ts';
import type { AuditTrail } from './audit.ts';
import { bulkGroups } from './bulk/bulkJob.ts';
import { bulkBodySchema } from './bulk/bulkRequest.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { badRequest, readBody } from './requests.ts';
import { startedResponse } from './startedRun.ts';

interface Parts {
  bulk: Job;
  runs: RunStore;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

/**
 * `POST ops/bulk` `{action, filter, reason, dryRun?, cap?}` with an `Idempotency-Key`: starts a run that retries or voids
 * invoices, or redrives or discards messages. The same key stands for the same run; with another request under it the answer
 * is 422.
 */
export async function startBulk(
  request: OpsRequest,
  orchestrations: Orchestrations,
  parts: Parts,
): Promise<OpsResponse> {
  const { bulk, audit, actor } = parts;
  const idempotencyKey = request.headers.get('idempotency-key')?.trim();
  if (idempotencyKey === undefined || idempotencyKey === '') {
    return badRequest([{ field: 'Idempotency-Key', error: 'expected a header with a key of your own' }]);
  }
  const asked = await readBody(request, bulkBodySchema);
  if (!asked.ok) return asked.response;
  const { dryRun, ...wanted } = asked.value;
  const { action, filter, reason, cap = null } = wanted;
  const started = await startRun(
    { ...parts, job: bulk, orchestrations },
    { dryRun, idempotencyKey, groups: [bulkGroups[action]], request: { ...wanted, actor } },
  );
  return startedResponse(started, async ({ runId }) => {
    await audit.append({
      actor,
      action: `start bulk ${action}`,
      target: `${bulk.name}/${runId}`,
      detail: { reason, filter: JSON.stringify(filter), cap, dryRun },
    });
  });
}
