import { randomUUID } from 'node:crypto';
import {
  type DocumentStore,
  keepFirst,
  readableDocument,
  systemId,
  tolerantObject,
} from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { Pacer } from '@payonce/jobs/rate';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { deploymentPartition } from '../invoice/shard.ts';
import { metric } from '../platform/appMetrics.ts';
import type { AccountAnswer, BlockedCall, NotCalled, ProviderAccount } from './paymentProvider.ts';

/** Time that an answer which lets nothing through counts (ms), and how soon a call that it blocked is worth another try. */
const unclear = { countsMs: 2_000, retryAfterMs: 5_000 };
const changed = { countsMs: 30_000, retryAfterMs: 60_000 };

/** Time between two questions about the key (ms): with an alert rule that looks every minute, a rejected one is known in five. */
const askEveryMs = 120_000;

/** Longest wait of a question for its turn (ms): of one that a call needs, and of one that nobody waits for. */
const turnWithinMs = { forCall: 30_000, else: 2_000 };

/** `deployment`: the name that the deployment gives its payments in the account that it began with. */
export type AccountAdmission = { kind: 'same'; deployment?: string } | BlockedCall | NotCalled;

/**
 * Keeps a provider's calls to the account that the deployment began with. Elsewhere keys mean nothing and no payment would be
 * found, so look-ups wait like charges: invoices wait, and none is declined or parked.
 *
 * The first process to ask records the account. It costs one call and one read in the life of a process, or more after a failure,
 * in a turn of the look-ups, so none during a pause. Of a key that may not read its account only the mode is checked (logged).
 */
export function checkedAccount(
  provider: ProviderAccount,
  documents: DocumentStore,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  turns: Pick<Pacer, 'turn'>,
  /** `DEPLOYMENT_ID`. Absent: a new name, made once. */
  deploymentId?: string,
) {
  let checked: { admission: Promise<AccountAdmission>; untilMs: number } | undefined;
  /** Why nothing may be called there. */
  let wrong: string | undefined;
  let nextAskMs = Number.NEGATIVE_INFINITY;
  return {
    /** Asked before each call. The first waits for a turn and for the provider. */
    admission,
    /** A turn for a look at no payment in particular: none in another account. Such a look records no account. */
    turn: async (...asked: Parameters<typeof turns.turn>) => {
      const isOurs = (await recordedAccount(documents)) === undefined || (await admission()).kind === 'same';
      return isOurs ? turns.turn(...asked) : undefined;
    },
    /**
     * Asks whether the provider takes our key, at most every two minutes. Payments would tell too, but only when one is due: a
     * key that was revoked on a quiet evening would be found out by the first payment of the morning.
     */
    checkKey: async (): Promise<void> => {
      if (clock.monotonic() < nextAskMs) return;
      await ask(turnWithinMs.else);
    },
    /** Fails if the account has changed. A provider that does not answer is no failure of ours. */
    healthChecks: [
      {
        name: 'paymentAccount',
        async probe() {
          // A look records nothing: the account is that of the first call.
          if ((await recordedAccount(documents)) === undefined) return;
          await admission();
          if (wrong !== undefined) throw new Error(wrong);
        },
      },
    ],
  };

  function admission(): Promise<AccountAdmission> {
    if (checked === undefined || clock.monotonic() >= checked.untilMs) {
      const asked = { admission: check(), untilMs: Number.POSITIVE_INFINITY };
      checked = asked;
      void asked.admission.then(({ kind }) => {
        const blockedMs = (wrong === undefined ? unclear : changed).countsMs;
        if (kind !== 'same') asked.untilMs = clock.monotonic() + (kind === 'blocked' ? blockedMs : 0);
      });
    }
    return checked.admission;
  }

  /** Asks in a turn, and reports whether the provider takes our key. No answer says nothing about it. */
  async function ask(withinMs: number): Promise<AccountAnswer | NotCalled> {
    const before = clock.monotonic() + withinMs;
    for (;;) {
      const turn = await turns.turn(before, 'last');
      if (turn === undefined) return { kind: 'notCalled' };
      nextAskMs = clock.monotonic() + askEveryMs;
      const answer = await provider.account();
      if (answer.kind === 'rateLimited') {
        turn.refused(answer.retryAfterMs);
        continue;
      }
      turn.answered();
      if (answer.kind === 'account') telemetry.record(metric.providerKeyRejected, 0);
      if (answer.kind === 'unknown' && answer.fault === 'keyRejected') {
        telemetry.record(metric.providerKeyRejected, 1);
        log(`the payment provider refuses our key: ${answer.message}`);
      }
      return answer;
    }
  }

  async function check(): Promise<AccountAdmission> {
    wrong = undefined;
    const answer = await ask(turnWithinMs.forCall);
    if (answer.kind === 'notCalled') return answer;
    if (answer.kind !== 'account') return notKnown(answer.message);
    const { id, mode, message } = answer;
    try {
      const given = {
        mode,
        deployment: deploymentId ?? randomUUID().slice(0, 8),
        ...(id === undefined ? {} : { account: id }),
      };
      const stored = await keepAccount(documents, given, new Date(clock.now()).toISOString());
      const { deployment } = stored;
      const other = otherAccount(stored, given);
      if (other !== undefined) return otherThan(other);
      if (deploymentId !== undefined && deploymentId !== deployment)
        return otherThan(otherDeployment(deployment, deploymentId));
      if (message !== undefined)
        log(`only the mode of the payment provider's account is checked: ${message}`);
      return { kind: 'same', deployment };
    } catch (error) {
      return notKnown(errorText(error));
    }
  }

  function notKnown(why: string): BlockedCall {
    const { retryAfterMs } = unclear;
    return { kind: 'blocked', message: `the account is not known: ${why}`, retryAfterMs };
  }

  function otherThan(message: string): BlockedCall {
    wrong = message;
    telemetry.count(metric.providerAccountChanged);
    log(message);
    return { kind: 'blocked', message, retryAfterMs: changed.retryAfterMs };
  }
}

type KnownAccount = Pick<RecordedAccount, 'mode' | 'account'>;

/** Says that the secret key belongs to another account or mode than the one that this deployment began with; undefined if not. */
export function otherAccount(stored: KnownAccount, given: KnownAccount): string | undefined {
  const isUnread = stored.account === undefined || given.account === undefined;
  if (stored.mode === given.mode && (isUnread || stored.account === given.account)) return undefined;
  const [ours, other] = [stored, given].map(
    ({ account = 'an account that could not be read', mode }) => `${account} (${mode} mode)`,
  );
  return (
    `the payments of this deployment are in ${ours}, but the secret key is of ${other}: nothing is ` +
    'charged or looked up there, because no payment would be found and every open invoice could be charged again'
  );
}

/** `DEPLOYMENT_ID` names another deployment than the one whose payments are recorded here. */
function otherDeployment(stored: string, given: string): string {
  return (
    `the payments of this deployment are named ${stored}, but DEPLOYMENT_ID is ${given}: nothing is charged or looked up, ` +
    'because no payment would be taken for ours and every open invoice could be charged again'
  );
}

/** The id of its document; see docs/deploy.md for what deleting it means. */
const place = { id: systemId('provider-account'), shard: deploymentPartition };

/** The provider's account that a deployment began with, and the name that it gives its payments there. */
const schema = tolerantObject({
  type: z.literal('providerAccount'),
  mode: z.string(),
  deployment: z.string(),
  /** Absent until a key that may read it comes along. */
  account: z.string().exactOptional(),
  _etag: z.string().exactOptional(),
});
type RecordedAccount = Pick<z.infer<typeof schema>, 'mode' | 'deployment' | 'account'>;

/**
 * The account, as it is stored beside the invoices, in the partition of what is true of the whole deployment. Undefined until the
 * first call. @throws {StoreAway}
 */
export async function recordedAccount(documents: DocumentStore): Promise<RecordedAccount | undefined> {
  const [document] = await documents.read(place.shard, [place.id]);
  return document === undefined ? undefined : read(document);
}

/**
 * Records the account unless one is recorded; returns the recorded one. One that is recorded without its id, in the same mode,
 * gets it. `at`: ISO 8601. @throws {StoreAway}
 */
async function keepAccount(
  documents: DocumentStore,
  given: RecordedAccount,
  at: string,
): Promise<RecordedAccount> {
  const kept = read(await keepFirst(documents, { ...place, type: 'providerAccount', ...given, at }));
  const { account } = given;
  if (kept.account !== undefined || account === undefined || kept.mode !== given.mode) return kept;
  const { id, shard } = place;
  const version = kept._etag === undefined ? {} : { version: kept._etag };
  await documents.transact(shard, [{ kind: 'patch', id, ...version, set: { account } }]);
  // Somebody else was first, or our answer was lost: what is stored now counts.
  return (await recordedAccount(documents)) ?? kept;
}

function read(document: unknown) {
  return readableDocument(document, schema, 'providerAccount');
}
