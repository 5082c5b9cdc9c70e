import { figureOperations } from './figureOperations.ts';
import { invoiceOperations } from './invoiceOperations.ts';
import type { Operation } from './operation.ts';
import { workOperations } from './workOperations.ts';

/** Every call under `ops/`, for an app that runs this job. */
export function operationsOf(job: string): readonly Operation[] {
  return [...invoiceOperations, ...workOperations(job), ...figureOperations];
}
