import type { z } from 'zod';

/** Adds a finding: the name of the setting, and what is wrong with it. */
export type ReportFinding = (name: string, error: string) => void;

/** Reports to zod. The last part of a finding's path is the name of its setting. */
export function reportTo(context: z.core.$RefinementCtx<unknown>): ReportFinding {
  return (name, error) => {
    context.issues.push({ code: 'custom', path: [name], message: error, input: undefined });
  };
}

export function missing(what: string): string {
  return `is missing: expected ${what}`;
}

/** Says what was expected, and what was given unless that looks like a secret in the wrong place. */
export function expected(what: string, given: string): string {
  if (/key|secret|signature|password|@|[rs]k_(live|test)/i.test(given)) return `expected ${what}`;
  return `expected ${what}, not "${given.length > 60 ? `${given.slice(0, 60)}…` : given}"`;
}
