import type { z } from 'zod';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import type { OpsResponse } from './requests.ts';

export function badContinuation(): OpsResponse<never> {
  const error = 'expected what an earlier page gave as "continuation"';
  return badQuery([{ field: 'continuation', error }]);
}

export function badRequest(errors: readonly FieldError[]): OpsResponse<never> {
  return problemResponse(problem(400, 'The request has wrong values.', short(errors)));
}

export function badQuery(errors: readonly FieldError[]): OpsResponse<never> {
  return problemResponse(problem(400, 'The query has a wrong value.', short(errors)));
}

/** The faults that a schema found; `whole` names what has no fields. */
export function fieldErrors({ issues }: z.ZodError, whole: string): FieldError[] {
  return issues.map(({ path, message }) => ({ field: path.join('.') || whole, error: message }));
}

/** Errors that one answer names. */
export const mostErrors = 20;

/** A request may be wrong in thousands of places, and in long ones. */
function short(errors: readonly FieldError[]): FieldError[] {
  return errors.slice(0, mostErrors).map(({ field, error }) => ({
    field: field.slice(0, 60),
    error: shortened(error),
  }));
}

/** Characters of a detail that repeats what was sent. */
const longestDetail = 300;

export function notFound(what: string): OpsResponse<never> {
  return problemResponse(problem(404, shortened(`there is no ${what}`)));
}

export function conflict(detail: string): OpsResponse<never> {
  return problemResponse(problem(409, shortened(detail)));
}

/** The key is that of another request. `before`: what that one asked for. */
export function keyTaken(before: string): OpsResponse<never> {
  const error = `expected a new key, or the same request as before: ${shortened(before)}`;
  return problemResponse(
    problem(409, 'This Idempotency-Key stands for another request.', [{ field: 'Idempotency-Key', error }]),
  );
}

export function unavailable(detail: string): OpsResponse<never> {
  return problemResponse(problem(503, detail));
}

function shortened(detail: string): string {
  return detail.length > longestDetail ? `${detail.slice(0, longestDetail)}…` : detail;
}
