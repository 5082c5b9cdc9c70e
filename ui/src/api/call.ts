import type { z } from 'zod';
import { type ProblemAnswer, problemAnswer } from '../../../src/ops/answers/common.ts';
import { tellSignedOut } from '../signedOut.ts';
import { tellAnswered } from './away.ts';
import { apiBase } from './base.ts';
import { readKey, readName } from './key.ts';

/** A call that was refused or came to nothing. `status` is 0 if there was no answer. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly status: number;
  readonly errors: NonNullable<ProblemAnswer['errors']>;

  constructor(status: number, detail: string, errors: ProblemAnswer['errors'] = [], options?: ErrorOptions) {
    super(detail, options);
    this.status = status;
    this.errors = errors;
  }
}

export interface Sent {
  method?: 'GET' | 'POST' | 'PATCH';
  body?: unknown;
  /** Sent as it is, instead of a JSON body. */
  text?: { content: string; type: string };
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Makes a call under `ops/` and checks its answer. @throws {CallFailed} */
export async function call<T>(answer: z.ZodType<T>, path: string, sent: Sent = {}): Promise<T> {
  const response = await send(path, sent);
  const parsed = answer.safeParse(await response.json());
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw new CallFailed(
    response.status,
    `The answer to ${path} has an unknown shape (${where}): reload the page.`,
  );
}

/** Makes a call and gives the answer, a text, as a file; `told` hears of the bytes that have come. @throws {CallFailed} */
export async function download(
  path: string,
  {
    name,
    accept,
    signal,
    told,
  }: { name: string; accept: string; signal: AbortSignal; told: (bytes: number) => void },
): Promise<void> {
  const response = await send(path, { headers: { accept }, signal });
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    parts.push(read.value);
    bytes += read.value.length;
    told(bytes);
  }
  // Excel takes a file without this mark for one in the encoding of Windows.
  saveAs(new Blob(['\uFEFF', ...parts], { type: accept }), name);
}

/** Saves a file of this name. */
export function saveAs(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

async function send(path: string, { method = 'GET', body, text, headers, signal }: Sent): Promise<Response> {
  const key = readKey();
  const name = readName();
  const content = text?.content ?? (body === undefined ? undefined : JSON.stringify(body));
  let response: Response;
  try {
    response = await fetch(`${apiBase}/${path}`, {
      method,
      // A redirect is the platform's way to ask for a sign-in.
      redirect: 'manual',
      headers: {
        ...(key === undefined ? {} : { 'x-functions-key': key }),
        // A header takes no other letters as they are.
        ...(key === undefined || name === '' ? {} : { 'x-actor': encodeURIComponent(name) }),
        ...(content === undefined ? {} : { 'content-type': text?.type ?? 'application/json' }),
        ...headers,
      },
      ...(content === undefined ? {} : { body: content }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    tellAnswered(false);
    throw new CallFailed(0, 'The app does not answer. Check the connection.', [], { cause });
  }
  tellAnswered(true);
  if (response.ok) return response;
  if (response.type === 'opaqueredirect' || response.status === 401)
    tellSignedOut(key === undefined ? '' : 'The app no longer accepts your key.');
  if (response.type === 'opaqueredirect') throw new CallFailed(401, 'You are signed out.');
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<CallFailed> {
  const { status } = response;
  const problem = problemAnswer.safeParse(await response.json().catch(() => undefined));
  if (problem.success) return new CallFailed(status, problem.data.detail, problem.data.errors);
  const known: Record<number, string> = {
    401: 'The key is missing or wrong.',
    403: 'You can read; changes need the role ops.write.',
    404: 'This app does not have this call.',
  };
  return new CallFailed(status, known[status] ?? `The app answered with status ${status}.`);
}
