import { z } from 'zod';
import { emptyPages } from './emptyPages.ts';
import { badRequest } from './errors.ts';
import { dataOperations, isDataOperation, metadataOperations, type Operation } from './operation.ts';

const partitionKeyValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const armed = z.strictObject({
  kind: z.enum(['429', '503', '408', 'reset-before', 'reset-after', 'delay', ...emptyPages]),
  count: z.number().int().min(1),
  filter: z
    .strictObject({
      container: z.string().optional(),
      operation: z.enum([...dataOperations, ...metadataOperations]).optional(),
      method: z.string().toUpperCase().optional(),
      partitionKey: z.union([partitionKeyValue, z.array(partitionKeyValue)]).optional(),
    })
    .default({}),
  retryAfterMs: z.number().int().min(0).default(10),
  delayMs: z.number().int().min(0).default(1000),
});

/**
 * A fault for the next `count` requests that match `filter`. A filter without an operation matches data-plane
 * requests only: the SDK reads metadata whenever it likes, and would use up a fault unnoticed. Empty pages match only what
 * has pages.
 */
export type Fault = z.infer<typeof armed>;

export interface ArmedFault extends Fault {
  /** Requests hit so far, out of `count`. */
  hits: number;
}

export interface FaultableRequest {
  operation: Operation;
  method: string;
  container: string | undefined;
  /** Canonical text of the partition key, if the request names one. */
  partition: string | undefined;
}

export function createFaults() {
  let faults: ArmedFault[] = [];
  return {
    /** @throws {CosmosError} 400 */
    arm(body: unknown): ArmedFault {
      const parsed = armed.safeParse(body);
      if (!parsed.success) throw badRequest(z.prettifyError(parsed.error));
      const fault = { ...parsed.data, hits: 0 };
      faults.push(fault);
      return fault;
    },
    /** Takes the fault for this request, the one armed first, and counts a hit. */
    take(request: FaultableRequest): Fault | undefined {
      if (faults.length === 0) return undefined;
      const fault = faults.find((each) => each.hits < each.count && matches(each, request));
      if (fault !== undefined) fault.hits += 1;
      return fault;
    },
    list: (): readonly ArmedFault[] => faults,
    clear(): void {
      faults = [];
    },
  };
}

/** The empty page that a fault asks for, if it does. */
export const emptyPageOf = (fault: Pick<Fault, 'kind'> | undefined) =>
  emptyPages.find((kind) => kind === fault?.kind);

const hasPages = (operation: Operation) => operation === 'query' || operation === 'readFeed';

function matches(
  { kind, filter }: Fault,
  { operation, method, container, partition }: FaultableRequest,
): boolean {
  if (emptyPageOf({ kind }) !== undefined && !hasPages(operation)) return false;
  return (
    (filter.operation === undefined ? isDataOperation(operation) : filter.operation === operation) &&
    (filter.container === undefined || filter.container === container) &&
    (filter.method === undefined || filter.method === method) &&
    (filter.partitionKey === undefined || JSON.stringify([filter.partitionKey].flat()) === partition)
  );
}
