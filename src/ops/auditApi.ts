import { z } from 'zod';
import type { Instance } from '../platform/instance.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { pageResponse, readQuery } from './requests.ts';

interface Parts {
  audit: AuditTrail;
  instance: Instance;
}

const pageSize = 100;

export const auditQuery = z.object({
  day: z.iso
    .date({ error: ({ input }) => `expected a day as YYYY-MM-DD, got ${JSON.stringify(input)}` })
    .exactOptional(),
  continuation: z.string().exactOptional(),
});

/** `GET ops/audit?day=&continuation=`: what was done through ops on a day (UTC, today if absent), newest first. */
export async function listAudit(request: OpsRequest, { audit, instance }: Parts): Promise<OpsResponse> {
  const query = readQuery(request, auditQuery);
  if (!query.ok) return query.response;
  const today = new Date(instance.clock.now()).toISOString().slice(0, 10);
  return pageResponse('records', audit.list({ day: today, pageSize, ...query.value }), (record) => record);
}
