import { jobLockKey, jobLockPrefix } from '../../src/locking/lockKeys.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { errorText } from '../../src/platform/errorText.ts';
import type { DeployedApp } from './deployedApp.ts';

/** How a deployment turned out. */
export type Verdict =
  | { kind: 'works'; notes: readonly string[] }
  /** The app is there and says which secrets are missing. Once they are in the vault it works. */
  | { kind: 'waits'; for: string }
  | { kind: 'failed'; what: string; look: string };

export interface VerifyOptions {
  clock: Clock;
  /** Seconds between two ticks of the job's timer. */
  intervalSeconds: number;
  /** Whether the deployment paused claiming and charging. */
  paused: boolean;
  /** Ops requires a sign-in. */
  signIn: boolean;
  log: (line: string) => void;
}

/** How long the new version may take to answer, and how often it is asked, in milliseconds. */
const startMs = 5 * 60_000;
const pollMs = 10_000;
/** With longer intervals the pipeline does not wait for a tick: the alert `no-successful-run` does. */
const longestIntervalSeconds = 15 * 60;
/** The sweeper's timer fires every 30 s unless OUTBOX_SCHEDULE says otherwise. */
const sweepMs = 3 * 60_000;

/**
 * What a deployment has to prove: the platform knows the triggers, the app answers health, and its timers fire. Timers of
 * Node apps have stopped after deployments on this plan, while everything else looked well
 * (https://github.com/Azure/azure-functions-host/issues/11828).
 *
 * A tick is seen by the fence of its lock, which rises each time, whether or not there was anything to do.
 */
export async function verifyDeployment(app: DeployedApp, options: VerifyOptions): Promise<Verdict> {
  const { clock, intervalSeconds, paused, signIn, log } = options;
  await app.syncTriggers();
  log('triggers are synchronized');

  const health = await answering();
  if (health.kind !== 'healthy') return health;
  log('ops/health is ok');
  if (signIn) {
    const { actor, roles } = await app.me();
    if (actor === 'function key' || roles.length === 0) {
      return {
        kind: 'failed',
        what: `GET ops/me: the roles of callers do not arrive: ${actor} has ${roles.join(', ') || 'none'}`,
        look: 'Everybody who has the function key may do everything. Is authentication on (az webapp auth show), is WEBSITE_AUTH_ENABLED among the environment variables of the app, and is OPS_SIGN_IN "required"?',
      };
    }
    log(`ops/me names ${actor} with ${roles.join(', ')}`);
  }

  const sweeper = jobLockKey('sweep-outbox');
  const group = (key: string) => key.startsWith(`${jobLockPrefix}process-invoices/`);
  const before = await app.fences();
  if (before === undefined)
    return { kind: 'works', notes: ['LOCKS names a store that cannot list: timers were not watched'] };

  if (!(await rises((key) => key === sweeper, sweepMs))) return stopped('sweepOutbox', sweepMs);
  log('the timer of sweepOutbox fires');
  if (paused) return { kind: 'works', notes: ['payments are paused: no run was expected'] };
  if (intervalSeconds > longestIntervalSeconds)
    return { kind: 'works', notes: [`a run comes every ${intervalSeconds} s: this did not wait for one`] };
  const runMs = 2 * intervalSeconds * 1000;
  if (!(await rises(group, runMs))) return stopped('processInvoices', runMs);
  log('a run happened');
  return { kind: 'works', notes: [] };

  async function answering(): Promise<Verdict | { kind: 'healthy' }> {
    let last = 'no answer';
    for (const deadline = clock.monotonic() + startMs; ; await clock.sleep(pollMs)) {
      try {
        const { status, body } = await app.health();
        if (status === 200) return { kind: 'healthy' };
        last = `${status} ${body.slice(0, 1000)}`;
        if (status === 503 && /STRIPE_SECRET_KEY: is (missing|an unresolved)/.test(body))
          return { kind: 'waits', for: last };
        if (status === 401 || status === 403)
          return {
            kind: 'failed',
            what: `GET ops/health: ${last}`,
            look: 'If the answer names OPS_SIGN_IN, the platform does not tell the app that its sign-in is on (WEBSITE_AUTH_ENABLED). Otherwise give this identity the app role ops.read or ops.write, add the client id of this identity to PAYONCE_OPS_ALLOWED_APPLICATIONS, and the identity to a group in PAYONCE_OPS_GROUP_IDS.',
          };
      } catch (error) {
        last = errorText(error);
      }
      if (clock.monotonic() >= deadline)
        return {
          kind: 'failed',
          what: `GET ops/health has not been ok for ${startMs / 60_000} minutes: ${last}`,
          look: 'The answer names the service that does not respond: check its role assignments and its network. Without an answer, look at exceptions in Application Insights.',
        };
    }
  }

  async function rises(which: (key: string) => boolean, withinMs: number): Promise<boolean> {
    for (
      const deadline = clock.monotonic() + withinMs;
      clock.monotonic() < deadline;
      await clock.sleep(pollMs)
    ) {
      const now = (await app.fences()) ?? {};
      if (Object.entries(now).some(([key, fence]) => which(key) && fence > (before?.[key] ?? 0))) return true;
    }
    return false;
  }

  function stopped(name: string, ms: number): Verdict {
    return {
      kind: 'failed',
      what: `the timer ${name} did not fire within ${ms / 1000} s`,
      look: `See whether ${name} is disabled or failing (Application Insights, requests), and whether another instance holds its lease (GET ops/locks). Restart the app once: az functionapp restart.`,
    };
  }
}
