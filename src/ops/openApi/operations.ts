import { figureOperations } from './figureOperations.ts';
import { importOperations } from './importOperations.ts';
import { invoiceOperations } from './invoiceOperations.ts';
import type { Operation } from './operation.ts';
import { workOperations } from './workOperations.ts';

/** Every call under `ops/`, for an app that runs this job. */
export function operationsOf(job: string): readonly Operation[] {
  return [...importOperations, ...invoiceOperations, ...workOperations(job), ...figureOperations];
}
