import { z } from 'zod';
import { time } from './common.ts';

const lease = z.object({
  key: z.string(),
  held: z.boolean(),
  owner: z.string().nullable(),
  job: z.string().nullable(),
  runId: z.string().nullable(),
  acquiredAt: time.nullable(),
  expiry: time.nullable(),
  fence: z.number(),
});
export type LeaseAnswer = z.infer<typeof lease>;

export const leasesAnswer = z.object({ locks: z.array(lease) });

export const releasedAnswer = z.object({ key: z.string(), previousOwner: z.string(), fence: z.number() });
