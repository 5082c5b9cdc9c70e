import { aboutCalls } from './aboutCalls.ts';
import type { Call } from './call.ts';
import { correctionCalls } from './correctionCalls.ts';
import { customerCalls } from './customerCalls.ts';
import { deadLetterCalls } from './deadLetterCalls.ts';
import { importCalls } from './importCalls.ts';
import { importRecordCalls } from './importRecordCalls.ts';
import { invoiceCalls } from './invoiceCalls.ts';
import { lockCalls } from './lockCalls.ts';
import { outboxCalls } from './outboxCalls.ts';
import { pauseCalls } from './pauseCalls.ts';
import { reportCalls } from './reportCalls.ts';
import { runCalls } from './runCalls.ts';

/** Every call under `ops/`, by the name of its function. */
export const calls = {
  ...importCalls,
  ...importRecordCalls,
  ...invoiceCalls,
  ...correctionCalls,
  ...customerCalls,
  ...runCalls,
  ...pauseCalls,
  ...lockCalls,
  ...outboxCalls,
  ...deadLetterCalls,
  ...reportCalls,
  ...aboutCalls,
} satisfies Readonly<Record<string, Call>>;

export type CallId = keyof typeof calls;

export const callIds = Object.keys(calls) as CallId[];

export function forEachCall<T>(make: (id: CallId) => T): Record<CallId, T> {
  return Object.fromEntries(callIds.map((id) => [id, make(id)])) as Record<CallId, T>;
}
