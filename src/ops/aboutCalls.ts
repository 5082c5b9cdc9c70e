import { z } from 'zod';
import { meAnswer } from './answers/overviewAnswers.ts';
import { healthAnswer } from './answers/reportAnswers.ts';
import { call } from './call.ts';
import { checkHealth } from './health.ts';
import { openApiDocument } from './openApiDocument.ts';

export const aboutCalls = {
  getMe: call({
    method: 'GET',
    route: 'ops/me',
    tag: 'About',
    summary: 'Who calls, what they may do, and in which deployment',
    answer: { json: meAnswer },
    async handle({ caller: { actor, roles } }, { environment, version, job, calls, account }) {
      const payments = paymentsAt(await account());
      const here = { environment, version, job: job.name, payments, calls: Object.keys(calls) };
      return { jsonBody: { actor, roles: [...roles], ...here } };
    },
  }),
  getHealth: call({
    method: 'GET',
    route: 'ops/health',
    tag: 'About',
    summary: 'Whether every dependency answers',
    answer: { json: healthAnswer, also: { 503: 'One does not answer' } },
    async handle(_asked, parts) {
      const health = await checkHealth(parts);
      return { status: health.status === 'ok' ? 200 : 503, jsonBody: health };
    },
  }),
  getOpenApi: call({
    method: 'GET',
    route: 'ops/openapi.json',
    tag: 'About',
    summary: 'This document',
    answer: { json: z.looseObject({ openapi: z.string() }) },
    handle: async (_asked, { calls, version }) => ({ jsonBody: openApiDocument({ calls, version }) }),
  }),
};

/** Where Stripe shows the payments of an account and mode. Pure. */
function paymentsAt(known: { mode: string; account?: string } | undefined): string | null {
  if (known?.account === undefined) return null;
  const mode = known.mode === 'live' ? '' : 'test/';
  return `https://dashboard.stripe.com/${encodeURIComponent(known.account)}/${mode}payments/`;
}
