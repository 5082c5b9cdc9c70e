/** Messages to etcd's v3 API and back, as JSON: https://etcd.io/docs/v3.5/learning/api/. */
import { aBoolean, aNumber, aText, fieldsOf, listOf, longNumber, orElse, type Shape } from '../answers.ts';

export type EtcdCompare =
  | { target: 'MOD'; result: 'EQUAL'; key: string; mod_revision: string }
  | { target: 'CREATE'; result: 'GREATER'; key: string; create_revision: '0' }
  | { target: 'VALUE'; result: 'EQUAL' | 'NOT_EQUAL'; key: string; value: string };

export type EtcdOperation =
  | {
      request_range: {
        key: string;
        range_end?: string;
        limit?: string;
        sort_order?: 'ASCEND' | 'DESCEND';
        sort_target?: 'CREATE';
        max_create_revision?: string;
      };
    }
  | { request_delete_range: { key: string } }
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
  /** Revision of the store at its creation. */
  createRevision: string;
  /** Id of the lease that the key is attached to; '0' without one. */
  lease: string;
}

export interface EtcdAnswer {
  /** Number of the election whose leader the member followed when it answered. */
  term: string;
  /** Revision of the store. */
  revision: string;
  succeeded: boolean;
  /** Results of the ranges of the branch that ran, in their order. */
  ranges: { entries: EtcdEntry[]; more: boolean }[];
}

/** 64-bit numbers travel as text. Whatever is zero, false or empty is left out. */
const header = fieldsOf({ raft_term: longNumber, revision: orElse(longNumber, '0') });

const keyValue = fieldsOf({
  key: aText,
  value: orElse(aText, ''),
  mod_revision: longNumber,
  create_revision: longNumber,
  lease: orElse(longNumber, '0'),
});

const entry: Shape<EtcdEntry> = (given, at) => {
  const { key, value, mod_revision, create_revision, lease } = keyValue(given, at);
  return {
    key: fromBase64(key),
    value: fromBase64(value),
    modRevision: mod_revision,
    createRevision: create_revision,
    lease,
  };
};

const range = fieldsOf({ kvs: orElse(listOf(entry), []), more: orElse(aBoolean, false) });

const txnResponse = fieldsOf({
  header,
  succeeded: orElse(aBoolean, false),
  responses: orElse(listOf(fieldsOf({ response_range: orElse(range, undefined) })), []),
});

export const txnAnswer: Shape<EtcdAnswer> = (given) => {
  const { header, succeeded, responses } = txnResponse(given);
  const ranges = responses.flatMap(({ response_range: found }) =>
    found === undefined ? [] : { entries: found.kvs, more: found.more },
  );
  return { term: header.raft_term, revision: header.revision, succeeded, ranges };
};

/** Answers with the seconds that were granted. */
export const grantAnswer: Shape<number> = (given) => Number(fieldsOf({ TTL: longNumber })(given).TTL);

const keepAliveResult = fieldsOf({ result: fieldsOf({ header, TTL: orElse(longNumber, '0') }) });

/** Without a TTL there is no such lease any more. */
export const keepAliveAnswer: Shape<{ term: string; kept: boolean }> = (given) => {
  const { header, TTL } = keepAliveResult(given).result;
  return { term: header.raft_term, kept: TTL !== '0' };
};

const watchResult = fieldsOf({
  result: fieldsOf({
    events: orElse(
      listOf((event) => event),
      [],
    ),
  }),
});

/** Answers with the number of changes that a message of a watch tells of. */
export const watchAnswer: Shape<number> = (given) => watchResult(given).result.events.length;

export const authAnswer = fieldsOf({ token: aText });
export const refusalAnswer = fieldsOf({ code: aNumber, message: aText });

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}
