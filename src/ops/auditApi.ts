import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import type { ReadAudit } from './audit.ts';
import { pageResponse, readQuery } from './requests.ts';

interface Dependencies {
  readAudit: ReadAudit;
  clock: Clock;
}

const pageSize = 100;

const querySchema = z.object({
  day: z.iso
    .date({ error: ({ input }) => `expected a day as YYYY-MM-DD, got ${JSON.stringify(input)}` })
    .exactOptional(),
  continuation: z.string().exactOptional(),
});

/** `GET ops/audit?day=&continuation=`: what was done through ops on a day (UTC; today if absent), newest first. */
export async function listAudit(
  request: HttpRequest,
  { readAudit, clock }: Dependencies,
): Promise<HttpResponseInit> {
  const query = readQuery(request, querySchema);
  if (!query.ok) return query.response;
  const today = new Date(clock.now()).toISOString().slice(0, 10);
  return pageResponse('records', readAudit({ day: today, pageSize, ...query.value }), (record) => record);
}
