import type { Answer } from './answer.ts';
import { CosmosError } from './errors.ts';
import type { createFaults } from './faults.ts';
import { parseJson } from './json.ts';
import type { createStats } from './stats.ts';

/** The endpoints under `/_local/`, where tests read request counts and arm faults. They need no key. */
export function createLocalEndpoints(
  stats: ReturnType<typeof createStats>,
  faults: ReturnType<typeof createFaults>,
) {
  return function answer(method: string, path: string, body: string): Answer {
    switch (`${method} ${path}`) {
      case 'GET /_local/stats':
        return ok(200, stats.current());
      case 'DELETE /_local/stats':
        stats.reset();
        return { status: 204, headers: {}, body: '' };
      case 'GET /_local/faults':
        return ok(200, faults.list());
      case 'POST /_local/faults':
        return ok(201, faults.arm(parseJson(body)));
      case 'DELETE /_local/faults':
        faults.clear();
        return { status: 204, headers: {}, body: '' };
      default:
        throw new CosmosError(404, `There is no ${method} ${path}.`);
    }
  };
}

const ok = (status: number, value: unknown): Answer => ({ status, headers: {}, body: JSON.stringify(value) });
