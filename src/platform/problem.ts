import { STATUS_CODES } from 'node:http';

/** One bad part of a request: its name, and what was expected. */
export interface FieldError {
  field: string;
  error: string;
}

/**
 * What went wrong with a request, as RFC 9457 has it. `type` is `about:blank` where the problem means no more than its
 * status does; `title` is then the phrase of the status (RFC 9457, section 4.2.1).
 */
export interface Problem {
  type: string;
  title: string;
  status: number;
  /** What is wrong with this very request, and what was expected. */
  detail: string;
  errors?: FieldError[];
}

/** A problem that means no more than its HTTP status (400 to 599). */
export function problem(status: number, detail: string, errors: readonly FieldError[] = []): Problem {
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail,
    ...(errors.length === 0 ? {} : { errors: [...errors] }),
  };
}

/** The response that carries a problem: what a `Response` or an `HttpResponse` of Azure Functions is made from. */
export function problemResponse(
  content: Problem,
  headers: Record<string, string> = {},
): { status: number; headers: Record<string, string>; body: string } {
  return {
    status: content.status,
    headers: { ...headers, 'content-type': 'application/problem+json' },
    body: JSON.stringify(content),
  };
}
