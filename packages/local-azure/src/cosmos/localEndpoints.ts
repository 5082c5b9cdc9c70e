import { localPage } from '../localPage.ts';
import type { Answer } from './answer.ts';
import type { Browse } from './browse.ts';
import { CosmosError } from './errors.ts';
import type { createFaults } from './faults.ts';
import { parseJson } from './json.ts';
import type { createStats } from './stats.ts';

/** The endpoints under `/_local/`: a page, what is in the account, request counts and faults. They need no key. */
export function createLocalEndpoints(
  stats: ReturnType<typeof createStats>,
  faults: ReturnType<typeof createFaults>,
  browse: Browse,
) {
  return function answer(method: string, path: string, body: string): Answer {
    switch (`${method} ${path}`) {
      case 'GET /_local/':
        return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: localPage };
      case 'GET /_local/databases':
        return ok(200, browse.databases());
      case 'POST /_local/query':
        return ok(200, browse.query(body));
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
