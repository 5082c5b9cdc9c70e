/** Messages to etcd's v3 API and back, as JSON: https://etcd.io/docs/v3.5/learning/api/. */
import { z } from 'zod';

export type EtcdCompare =
  | { target: 'MOD'; result: 'EQUAL'; key: string; mod_revision: string }
  | { target: 'CREATE'; result: 'GREATER'; key: string; create_revision: '0' }
  | { target: 'VALUE'; result: 'EQUAL' | 'NOT_EQUAL'; key: string; value: string };

export type EtcdOperation =
  | { request_range: { key: string; range_end?: string; limit?: string } }
  | { request_put: { key: string; value: string; lease?: string; ignore_lease?: boolean } };

/** One transaction. Keys and values are in base64. */
export interface EtcdTxn {
  compare?: readonly EtcdCompare[];
  success?: readonly EtcdOperation[];
  failure?: readonly EtcdOperation[];
}

/** A key with its value, both as text. */
export interface EtcdEntry {
  key: string;
  value: string;
  /** Revision of the store at the last write of this key. */
  modRevision: string;
  /** Id of the lease that the key is attached to; '0' without one. */
  lease: string;
}

export interface EtcdAnswer {
  /** Number of the election whose leader the member followed when it answered. */
  term: string;
  succeeded: boolean;
  /** Results of the ranges of the branch that ran, in their order. */
  ranges: { entries: EtcdEntry[]; more: boolean }[];
}

/** 64-bit numbers travel as text. Whatever is zero, false or empty is left out. */
const number64 = z.string().regex(/^-?\d+$/);
const header = z.object({ raft_term: number64 }).transform(({ raft_term }) => raft_term);

const entry = z
  .object({
    key: z.base64(),
    value: z.base64().default(''),
    mod_revision: number64,
    lease: number64.default('0'),
  })
  .transform(({ key, value, mod_revision, lease }): EtcdEntry => {
    return { key: fromBase64(key), value: fromBase64(value), modRevision: mod_revision, lease };
  });

const range = z
  .object({ kvs: z.array(entry).default([]), more: z.boolean().default(false) })
  .transform(({ kvs, more }) => ({ entries: kvs, more }));

export const txnAnswer = z
  .object({
    header,
    succeeded: z.boolean().default(false),
    responses: z.array(z.object({ response_range: range.optional() })).default([]),
  })
  .transform(({ header, succeeded, responses }): EtcdAnswer => {
    return {
      term: header,
      succeeded,
      ranges: responses.flatMap(({ response_range }) => response_range ?? []),
    };
  });

export const grantAnswer = z.object({ TTL: number64 }).transform(({ TTL }) => Number(TTL));

/** Without a TTL there is no such lease any more. */
export const keepAliveAnswer = z
  .object({ result: z.object({ header, TTL: number64.default('0') }) })
  .transform(({ result: { header, TTL } }) => ({ term: header, kept: TTL !== '0' }));

export const authAnswer = z.object({ token: z.string() });
export const refusalAnswer = z.object({ code: z.int(), message: z.string() });

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}
