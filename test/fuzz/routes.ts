import { readFileSync } from 'node:fs';
import { calls } from '../../src/ops/calls.ts';

export interface Route {
  method: string;
  /** With parameters in braces, without the prefix `api/`. */
  path: string;
}

const triggers = new URL('../../src/functions/http.ts', import.meta.url);

/** Every HTTP route of the app: those of the table, and those that their trigger names. */
export function httpRoutes(): Route[] {
  const named = readFileSync(triggers, 'utf8').matchAll(/route: '([^']+)',\s*methods: \['([A-Z]+)'\]/g);
  return [
    ...Object.values(calls).map(({ method, route }) => ({ method, path: route })),
    ...[...named].map(([, path = '', method = '']) => ({ method, path })),
  ];
}
