import { randomUUID } from 'node:crypto';
import type { PauseWatch } from '../pacing/pause.ts';
import { metric } from '../platform/appMetrics.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import type { AccountRecord, RecordedAccount } from './accountRecord.ts';
import type { AccountAnswer, HeldBack, ProviderAccount, RateLimited } from './paymentProvider.ts';

/** The secret key belongs to another account or mode than the one that this deployment began with. */
export class ProviderAccountChanged extends Error {
  override readonly name = 'ProviderAccountChanged';

  constructor(stored: RecordedAccount, given: Omit<RecordedAccount, 'deployment'>) {
    super(
      `the payments of this deployment are in ${named(stored)}, but the secret key is of ${named(given)}: nothing is ` +
        'charged or looked up there, because no payment would be found and every open invoice could be charged again',
    );
  }
}

function named({
  account = 'an account that could not be read',
  mode,
}: Omit<RecordedAccount, 'deployment'>): string {
  return `${account} (${mode} mode)`;
}

/** `DEPLOYMENT_ID` names another deployment than the one whose payments are recorded here. */
export class DeploymentChanged extends Error {
  override readonly name = 'DeploymentChanged';

  constructor(stored: string, given: string) {
    super(
      `the payments of this deployment are named ${stored}, but DEPLOYMENT_ID is ${given}: nothing is charged or looked up, ` +
        'because no payment would be taken for ours and every open invoice could be charged again',
    );
  }
}

export type AccountState =
  /** `deployment`: the name that this deployment gives its payments. */
  | { kind: 'same'; deployment: string }
  | { kind: 'changed'; error: ProviderAccountChanged | DeploymentChanged }
  /** It is not known yet: the provider or the store gives no answer. */
  | { kind: 'unclear'; message: string };

/** How long an answer that lets nothing through counts, in milliseconds. */
const unclearMs = 2_000;
const changedMs = 30_000;
/** How often and how soon a call that came too early is made again. */
const mostTries = 10;
const againMs = 1_000;

/**
 * Whether calls go to the account that this deployment began with: the first process to ask records it. It costs one call
 * and one read in the life of a process, which restarts when its settings change. After a failure the next call asks again.
 *
 * A key that may not read its account is checked for its mode only, and a line in the log says so.
 */
export function accountCheck(
  provider: ProviderAccount,
  record: AccountRecord,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  pause: Pick<PauseWatch, 'why'>,
  /** `DEPLOYMENT_ID`. Absent: a new name, made once. */
  deploymentId?: string,
): () => Promise<AccountState> {
  let checked: { state: Promise<AccountState>; until: number } | undefined;
  return () => {
    if (checked === undefined || clock.monotonic() >= checked.until) {
      const asked = { state: check(), until: Number.POSITIVE_INFINITY };
      checked = asked;
      void asked.state.then(({ kind }) => {
        if (kind !== 'same') asked.until = clock.monotonic() + (kind === 'changed' ? changedMs : unclearMs);
      });
    }
    return checked.state;
  };

  async function check(): Promise<AccountState> {
    const answer = await ask();
    if (answer.kind !== 'account') {
      if (answer.fault === 'keyRejected') telemetry.record(metric.providerKeyRejected, 1);
      return { kind: 'unclear', message: answer.message };
    }
    const { id, mode, message } = answer;
    const given = { mode, ...(id === undefined ? {} : { account: id }) };
    try {
      const stored = await record.keep({ ...given, deployment: deploymentId ?? randomUUID().slice(0, 8) });
      const { deployment } = stored;
      const other = stored.account !== undefined && id !== undefined && stored.account !== id;
      if (stored.mode !== mode || other) return changed(new ProviderAccountChanged(stored, given));
      if (deploymentId !== undefined && deploymentId !== deployment)
        return changed(new DeploymentChanged(deployment, deploymentId));
      if (message !== undefined)
        log(`only the mode of the payment provider's account is checked: ${message}`);
      return { kind: 'same', deployment };
    } catch (error) {
      return { kind: 'unclear', message: errorText(error) };
    }
  }

  function changed(error: ProviderAccountChanged | DeploymentChanged): AccountState {
    telemetry.count(metric.providerAccountChanged);
    log(error.message);
    return { kind: 'changed', error };
  }

  /** The pace is for calls that pay; this one is made again if it came too early, unless payments have been paused since. */
  async function ask(): Promise<AccountAnswer> {
    for (let tries = 1; ; tries++) {
      const answer: AccountAnswer | RateLimited = await provider.account();
      if (answer.kind !== 'rateLimited') return answer;
      if (tries >= mostTries) return { kind: 'unknown', message: answer.message };
      await clock.sleep(answer.retryAfterMs ?? againMs);
      const paused = await pause.why().catch(errorText);
      if (paused !== undefined) return { kind: 'unknown', message: paused };
    }
  }
}

/** The account that a call goes to: the one that the deployment began with, or none yet. */
export type CallAdmission = { kind: 'same'; deployment?: string } | HeldBack;

/** How soon a call that was held back is worth another try, in milliseconds. */
const againAfterMs = { changed: 60_000, unclear: 5_000 };

/**
 * Keeps a provider's calls to the account that the deployment began with. Elsewhere keys mean nothing and no payment would be
 * found, so look-ups are held back like charges: invoices wait, and none is declined or parked.
 */
export function checkedAccount(
  provider: ProviderAccount,
  record: AccountRecord,
  instance: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  /** While calls are paused, the health check makes none either. */
  pause: Pick<PauseWatch, 'why'>,
  deploymentId?: string,
) {
  const check = accountCheck(provider, record, instance, pause, deploymentId);
  return {
    /** The name of the deployment in that account; elsewhere why calls have to wait. May take as long as a call at first. */
    admission: async (): Promise<CallAdmission> => {
      const state = await check();
      if (state.kind === 'same') return state;
      const message =
        state.kind === 'changed' ? state.error.message : `the account is not known: ${state.message}`;
      return { kind: 'heldBack', message, retryAfterMs: againAfterMs[state.kind] };
    },
    /** Fails if the account has changed. A provider that does not answer is no failure of ours. */
    healthChecks: [
      {
        name: 'paymentAccount',
        async probe() {
          // A look records nothing: the account is that of the first call.
          if ((await record.find()) === undefined || (await pause.why()) !== undefined) return;
          const state = await check();
          if (state.kind === 'changed') throw state.error;
        },
      },
    ],
  };
}
