import { problem, problemResponse } from '../platform/problem.ts';
import type { StartedRun } from '../runs/startRun.ts';
import type { OpsResponse } from './http.ts';
import { badRequest } from './requests.ts';

type Started = Extract<StartedRun, { kind: 'started' }>;

/** The answer to a request for a run. `record` is called if this request has created the run, and not for its repetitions. */
export async function startedResponse(
  started: StartedRun,
  record: (run: Started) => Promise<void>,
): Promise<OpsResponse> {
  switch (started.kind) {
    case 'bad':
      return badRequest([{ field: started.field, error: started.error }]);
    case 'otherRequest':
      return problemResponse(
        problem(422, 'This Idempotency-Key stands for a run with another request.', [
          { field: 'Idempotency-Key', error: 'expected a new key, or the same request as before' },
        ]),
      );
    case 'started': {
      const { runId, status, created } = started;
      if (created) await record(started);
      return { status: 202, headers: { location: `/api/ops/runs/${runId}` }, jsonBody: { runId, status } };
    }
  }
}
