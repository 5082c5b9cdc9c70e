import { z } from 'zod';
import type { Answer } from './api.ts';
import type { Faults } from './faults.ts';
import type { Stats } from './stats.ts';
import type { Store } from './store.ts';

/** Everything under `/_local/`: lets tests inspect the stand-in and inject faults, without a key. */
export function createLocalEndpoints(store: Store, faults: Faults, stats: Stats) {
  return function answer(method: string, path: string, body: string): Answer {
    switch (`${method} ${path}`) {
      case 'GET /_local/charges':
        return text(200, store.ledger());
      case 'GET /_local/stats':
        return json(200, { ...stats.current(), charges: store.countCharges() });
      case 'DELETE /_local/stats':
        stats.reset();
        return text(204, '');
      case 'GET /_local/faults':
        return json(200, faults.list());
      case 'POST /_local/faults':
        return armed(faults, body);
      case 'DELETE /_local/faults':
        faults.clear();
        return text(204, '');
      default:
        return json(404, { error: `Unknown endpoint: ${method} ${path}.` });
    }
  };
}

function armed(faults: Faults, body: string): Answer {
  try {
    return json(201, faults.arm(JSON.parse(body)));
  } catch (error) {
    if (error instanceof z.ZodError) return json(400, { error: z.prettifyError(error) });
    if (error instanceof SyntaxError) return json(400, { error: error.message });
    throw error;
  }
}

const json = (status: number, value: unknown): Answer => text(status, JSON.stringify(value));
const text = (status: number, body: string): Answer => ({ kind: 'answer', status, body, headers: {} });
