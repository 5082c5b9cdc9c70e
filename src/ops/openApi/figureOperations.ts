import { z } from 'zod';
import {
  auditAnswer,
  healthAnswer,
  recountAnswer,
  reportAnswer,
  summaryAnswer,
} from '../answers/figureAnswers.ts';
import { meAnswer, overviewAnswer } from '../answers/overviewAnswers.ts';
import { auditQuery } from '../auditApi.ts';
import { recountRequestSchema } from '../recountApi.ts';
import { reportQuery } from '../reportApi.ts';
import type { Operation } from './operation.ts';

/** What only tells. */
export const figureOperations: readonly Operation[] = [
  {
    id: 'getSummary',
    method: 'get',
    path: 'ops/summary',
    tag: 'Figures',
    summary: 'Counts of everything, how the allowance is used, and how long the backlog will take',
    answer: { json: summaryAnswer },
  },
  {
    id: 'getOverview',
    method: 'get',
    path: 'ops/overview',
    tag: 'Figures',
    summary: 'What needs a person, and the figures of the summary with runs, leases and payments per hour',
    answer: { json: overviewAnswer },
  },
  {
    id: 'getReport',
    method: 'get',
    path: 'ops/report',
    tag: 'Figures',
    summary: 'What was paid, declined, refunded and disputed, per day (UTC) and currency, without fees',
    query: reportQuery,
    answer: { json: reportAnswer, csv: 'The same, a row for each day and currency' },
    problems: [500],
  },
  {
    id: 'recountFigures',
    method: 'post',
    path: 'ops/recount',
    tag: 'Figures',
    summary:
      'Counts all invoices, puts the figures of the summary and the report right, and says what was wrong',
    body: { json: recountRequestSchema },
    answer: { json: recountAnswer },
    problems: [500],
  },
  {
    id: 'listAudit',
    method: 'get',
    path: 'ops/audit',
    tag: 'Figures',
    summary: 'What was done through these calls on a day (UTC, today if absent), newest first',
    query: auditQuery,
    answer: { json: auditAnswer },
  },
  {
    id: 'getMe',
    method: 'get',
    path: 'ops/me',
    tag: 'About',
    summary: 'Who calls, what they may do, and in which deployment',
    answer: { json: meAnswer },
  },
  {
    id: 'getHealth',
    method: 'get',
    path: 'ops/health',
    tag: 'About',
    summary: 'Whether every dependency answers',
    answer: { json: healthAnswer, also: { 503: 'One does not answer' } },
  },
  {
    id: 'getOpenApi',
    method: 'get',
    path: 'ops/openapi.json',
    tag: 'About',
    summary: 'This document',
    answer: { json: z.looseObject({ openapi: z.string() }) },
  },
];
