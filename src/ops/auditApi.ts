import type { Instance } from '../platform/instance.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { dayQuery, pageResponse, readQuery, today } from './requests.ts';

interface Parts {
  audit: AuditTrail;
  instance: Instance;
}

const pageSize = 100;

export const auditQuery = dayQuery;

/** `GET ops/audit?day=&continuation=`: what was done through ops on a day (UTC, today if absent), newest first. */
export async function listAudit(request: OpsRequest, { audit, instance }: Parts): Promise<OpsResponse> {
  const query = readQuery(request, auditQuery);
  if (!query.ok) return query.response;
  return pageResponse(
    'records',
    audit.list({ day: today(instance.clock), pageSize, ...query.value }),
    (record) => record,
  );
}
