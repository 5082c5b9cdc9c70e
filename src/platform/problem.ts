import { STATUS_CODES } from 'node:http';

/** One bad part of a request. */
export interface FieldError {
  field: string;
  /** Says what was expected. */
  error: string;
}

/**
 * The problem details of RFC 9457. If the problem means no more than its HTTP status, `type` is `about:blank` and
 * `title` is the status phrase (RFC 9457, section 4.2.1).
 */
export interface Problem {
  type: string;
  title: string;
  status: number;
  /** Fault in this request, and what was expected. */
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

/** The response that carries a problem, as the init of a `Response` or of an Azure Functions `HttpResponse`. */
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
