import { useEffect, useState } from 'preact/hooks';
import { api, type BulkRequest } from '../api/requests.ts';
import { failureText } from '../parts/Failure.tsx';

const lookEveryMs = 500;

export type BulkCount =
  | { kind: 'counting' }
  | { kind: 'counted'; count: number }
  | { kind: 'failed'; why: string };

/** How many things a bulk change would change now: a preview counts them. */
export function useBulkCount(request: BulkRequest): BulkCount {
  const [state, setState] = useState<BulkCount>({ kind: 'counting' });
  const asked = JSON.stringify(request);
  useEffect(() => {
    let ended = false;
    counted(request, () => ended)
      .then((count) => setState({ kind: 'counted', count }))
      .catch((error: unknown) => setState({ kind: 'failed', why: failureText(error) }));
    return () => {
      ended = true;
    };
  }, [asked]);
  return state;
}

async function counted(request: BulkRequest, isEnded: () => boolean): Promise<number> {
  const preview = { ...request, reason: 'a count before the change', dryRun: true };
  const { runId } = await api.bulk(preview, crypto.randomUUID());
  while (!isEnded()) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const run = await api.run(runId);
    if (run.status === 'running') continue;
    if (run.status !== 'completed') throw new Error(run.reason ?? `the count is ${run.status}`);
    return run.counts.matching ?? 0;
  }
  return 0;
}
