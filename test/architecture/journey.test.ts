import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';

const script = fileURLToPath(new URL('journey.ts', import.meta.url));
const journey = z.object({ outcome: z.string(), files: z.array(z.string()) });

/**
 * Lower them when the journey gets shorter. Leases, pacing, tracing, figures and how a body is read count apart: nobody has to read
 * them to follow an invoice.
 */
const limits = { leases: 16, pacing: 13, intake: 12, tracing: 5, figures: 5, others: 75 };

test('one invoice, from its import to its receipt, passes through no more files than it did', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--', script]);
  const { outcome, files } = journey.parse(JSON.parse(stdout));
  expect(outcome).toBe('done');
  const leases = files.filter((file) => file.startsWith('locking/'));
  const pacing = files.filter((file) => file.startsWith('pacing/'));
  const intake = files.filter((file) => file.startsWith('intake/'));
  const tracing = files.filter((file) => /(Span|Trace|tracing|traceparent)\.ts$/.test(file));
  const figures = files.filter((file) => file.startsWith('invoice/figures/'));
  const apart = new Set([...leases, ...pacing, ...intake, ...tracing, ...figures, 'app.ts']);
  const others = files.filter((file) => !apart.has(file));
  expect(leases.length, leases.join(' ')).toBeLessThanOrEqual(limits.leases);
  expect(pacing.length, pacing.join(' ')).toBeLessThanOrEqual(limits.pacing);
  expect(intake.length, intake.join(' ')).toBeLessThanOrEqual(limits.intake);
  expect(tracing.length, tracing.join(' ')).toBeLessThanOrEqual(limits.tracing);
  expect(figures.length, figures.join(' ')).toBeLessThanOrEqual(limits.figures);
  expect(others.length, others.join(' ')).toBeLessThanOrEqual(limits.others);
}, 60_000);
