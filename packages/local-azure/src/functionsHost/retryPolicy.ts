import { z } from 'zod';
import { HostStartError } from './hostStartError.ts';

/** A duration as the programming model passes it on: whole seconds. */
const milliseconds = z.object({ seconds: z.number() }).transform(({ seconds }) => seconds * 1000);

const policy = z.discriminatedUnion('retryStrategy', [
  z.object({
    retryStrategy: z.literal('fixedDelay'),
    maxRetryCount: z.int().min(-1),
    delayInterval: milliseconds,
  }),
  z.object({
    retryStrategy: z.literal('exponentialBackoff'),
    maxRetryCount: z.int().min(-1),
    minimumInterval: milliseconds,
    maximumInterval: milliseconds,
  }),
]);

/** Limit and delays of the retries of a function that throws. */
export type RetryPolicy = z.output<typeof policy>;

/** @throws HostStartError */
export function readRetryPolicy(options: unknown): RetryPolicy {
  const { data, error } = policy.safeParse(options);
  if (data === undefined) throw new HostStartError(`its retry policy: ${z.prettifyError(error)}`);
  return data;
}

/** True if a function that has been retried so often may run again. -1 stands for no limit. */
export const mayRetry = ({ maxRetryCount }: RetryPolicy, retries: number): boolean =>
  maxRetryCount === -1 || retries < maxRetryCount;

/** Delay before a retry, in milliseconds. `retries`: those before it. */
export function retryDelay(of: RetryPolicy, retries: number): number {
  if (of.retryStrategy === 'fixedDelay') return of.delayInterval;
  return Math.min(of.minimumInterval * 2 ** retries, of.maximumInterval);
}
