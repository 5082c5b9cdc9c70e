import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { headerOf } from './answer.ts';
import { badRequest } from './errors.ts';
import { parseJsonOrUndefined } from './json.ts';

/** RU/s that may be provisioned (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#provisioned-throughput). */
const manual = { least: 400, step: 100 };
const autoscale = { least: 1000, step: 1000 };
const most = 1_000_000;

const autoscaleSettings = z.object({ maxThroughput: z.number() });

/** @throws {CosmosError} 400 for throughput that the service would not provision. Otherwise it has no effect here. */
export function requireThroughput(headers: IncomingHttpHeaders): void {
  const fixed = headerOf(headers, 'x-ms-offer-throughput');
  if (fixed !== undefined) requireStep(Number(fixed), manual);
  const scaled = headerOf(headers, 'x-ms-cosmos-offer-autopilot-settings');
  if (scaled === undefined) return;
  const { data } = autoscaleSettings.safeParse(parseJsonOrUndefined(scaled));
  requireStep(data?.maxThroughput ?? Number.NaN, autoscale);
}

function requireStep(value: number, { least, step }: typeof manual): void {
  if (value >= least && value <= most && value % step === 0) return;
  throw badRequest(
    `The offer should have valid throughput values between ${least} and ${most} inclusive in increments of ${step}.`,
  );
}
