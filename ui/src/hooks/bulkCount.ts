import { useEffect, useState } from 'preact/hooks';
import { splitCounts } from '../../../src/invoice/amountCounts.ts';
import { api, type BulkRequest } from '../api/requests.ts';
import { failureText } from '../parts/Failure.tsx';

const lookEveryMs = 500;

export type BulkCount =
  | { kind: 'counting' }
  | { kind: 'counted'; count: number; sums: readonly { amountMinor: number; currency: string }[] }
  | { kind: 'failed'; why: string };

/** Number of things that a bulk change would change now, and the sums of their amounts: a preview counts them. */
export function useBulkCount(request: BulkRequest): BulkCount {
  const [state, setState] = useState<BulkCount>({ kind: 'counting' });
  const asked = JSON.stringify(request);
  useEffect(() => {
    let ended = false;
    counted(request, () => ended)
      .then((found) => setState({ kind: 'counted', ...found }))
      .catch((error: unknown) => setState({ kind: 'failed', why: failureText(error) }));
    return () => {
      ended = true;
    };
    // oxlint-disable-next-line react/exhaustive-deps -- `asked` is the request, compared by content
  }, [asked]);
  return state;
}

async function counted(
  request: BulkRequest,
  isEnded: () => boolean,
): Promise<{ count: number; sums: { amountMinor: number; currency: string }[] }> {
  const preview = { ...request, reason: 'a count before the change', dryRun: true };
  const { runId } = await api.bulk(preview, crypto.randomUUID());
  while (!isEnded()) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const run = await api.run(runId);
    if (run.status === 'running') continue;
    if (run.status !== 'completed') throw new Error(run.reason ?? `the count is ${run.status}`);
    return { count: run.counts.matching ?? 0, sums: splitCounts(run.counts).sums };
  }
  return { count: 0, sums: [] };
}
