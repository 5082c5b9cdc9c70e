import type { Clock } from '../../packages/leases/src/clock.ts';
import { errorText } from '../../packages/leases/src/errorText.ts';
import { jobLockKey, jobLockPrefix } from '../../packages/leases/src/lockKeys.ts';
import type { DeployedApp } from './deployedApp.ts';

/** Outcome of a deployment. */
export type Verdict =
  | { kind: 'works'; notes: readonly string[] }
  /** The app is there, and its vault lacks a secret. Once it is there the app works. */
  | { kind: 'waits'; for: string }
  | { kind: 'failed'; what: string; look: string };

export interface VerifyOptions {
  clock: Clock;
  /** Time between two ticks of the job's timer (s). */
  intervalSeconds: number;
  /** True if the deployment paused claiming and charging. */
  paused: boolean;
  /** True if ops requires a sign-in. */
  signIn: boolean;
  log: (line: string) => void;
}

/** Time that a call has until it must have succeeded once (ms). Role assignments alone take up to ten minutes to arrive. */
const patienceMs = { syncTriggers: 5 * 60_000, readKey: 5 * 60_000, health: 10 * 60_000, ops: 2 * 60_000 };
const pollMs = 10_000;
/** Time between two attempts to make the platform read the vault again (ms). Each restarts the app. */
const refreshMs = 120_000;
/** With longer intervals the pipeline does not wait for a tick: the alert `no-successful-run` does. */
const longestIntervalSeconds = 15 * 60;
/** The sweeper's timer fires every 30 s unless OUTBOX_SCHEDULE says otherwise. */
const sweepMs = 3 * 60_000;

/** The secret that each setting refers to (infra/modules/keyVault.bicep). */
const secrets: Readonly<Record<string, string>> = {
  STRIPE_SECRET_KEY: 'stripe-secret-key',
  STRIPE_WEBHOOK_SECRETS: 'stripe-webhook-secrets',
  NOTIFY_WEBHOOK_SECRET: 'notify-webhook-secret',
};

/**
 * Proves three things of a deployment: the platform knows the triggers, the app answers health, and its timers fire. Timers of
 * Node apps have stopped after deployments on this plan, while everything else looked well
 * (https://github.com/Azure/azure-functions-host/issues/11828).
 *
 * Right after a deployment the platform answers with 400, 401, 403, 404, 502 and 503 to calls that succeed a minute later, so no
 * answer is final before its time is up. A tick is seen by the fence of its lock, which rises each time, whether or not there was
 * anything to do.
 */
export async function verifyDeployment(app: DeployedApp, options: VerifyOptions): Promise<Verdict> {
  const { clock, intervalSeconds, paused, signIn, log } = options;
  const triggers = await patiently(patienceMs.syncTriggers, () => app.syncTriggers());
  if (triggers.kind === 'late')
    return failed(
      triggers,
      'The host of the app does not start, or this identity may not write to the app. See the log of the host (az webapp log tail) and the role of this identity (Contributor or Website Contributor on the resource group).',
    );
  log('triggers are synchronized');

  const key = await patiently(patienceMs.readKey, () => app.readKey());
  if (key.kind === 'late')
    return failed(
      key,
      'The function key cannot be read. The host keeps it in the storage account: has the app started, and does its identity have Storage Blob Data Owner there? This identity needs Microsoft.Web/sites/host/listkeys/action, which Contributor has.',
    );

  const health = await answering();
  if (health.kind !== 'healthy') return health;
  log('ops/health is ok');
  if (signIn) {
    const me = await patiently(patienceMs.ops, () => app.me());
    if (me.kind === 'late') return failed(me, hintFor(me.last));
    const { actor, roles } = me.value;
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
  const group = (lock: string) => lock.startsWith(`${jobLockPrefix}process-invoices/`);
  const first = await patiently(patienceMs.ops, () => app.fences());
  if (first.kind === 'late')
    return failed(
      first,
      'The locks cannot be read: see the store that LOCKS names, and its role assignments.',
    );
  const before = first.value;
  if (before === undefined)
    return { kind: 'works', notes: ['LOCKS names a store that cannot list: timers were not watched'] };

  const sweep = await rises((lock) => lock === sweeper, sweepMs);
  if (sweep.kind === 'late') return stopped('sweepOutbox', sweep);
  log('the timer of sweepOutbox fires');
  if (paused) return { kind: 'works', notes: ['payments are paused: no run was expected'] };
  if (intervalSeconds > longestIntervalSeconds)
    return { kind: 'works', notes: [`a run comes every ${intervalSeconds} s: this did not wait for one`] };
  const run = await rises(group, 2 * intervalSeconds * 1000);
  if (run.kind === 'late') return stopped('processInvoices', run);
  log('a run happened');
  return { kind: 'works', notes: [] };

  async function answering(): Promise<Verdict | { kind: 'healthy' }> {
    let refreshAt = Number.NEGATIVE_INFINITY;
    const health = await patiently(patienceMs.health, async () => {
      const { status, body } = await app.health();
      if (status === 200) return { kind: 'healthy' } as const;
      const answer = `GET ops/health: ${status} ${body.slice(0, 1000)}`;
      const unresolved = unresolvedIn(body);
      for (const secret of unresolved)
        if (!(await app.hasSecret(secret))) return { kind: 'waits', for: `${secret}: ${answer}` } as const;
      // The secrets are there. The platform keeps what it read when the role was not there yet.
      if (unresolved.length > 0 && clock.monotonic() >= refreshAt) {
        refreshAt = clock.monotonic() + refreshMs;
        await app.refreshSecrets();
      }
      throw new Error(answer);
    });
    return health.kind === 'late' ? failed(health, hintFor(health.last)) : health.value;
  }

  /** Waits until a fence is higher than before. */
  async function rises(which: (lock: string) => boolean, withinMs: number): Promise<Outcome<void>> {
    return patiently(withinMs, async () => {
      const now = (await app.fences()) ?? {};
      if (!Object.entries(now).some(([lock, fence]) => which(lock) && fence > (before?.[lock] ?? 0)))
        throw new Error(unchanged);
    });
  }

  /** Repeats a call until it succeeds, or its time is up. */
  async function patiently<T>(withinMs: number, call: () => Promise<T>): Promise<Outcome<T>> {
    let last = '';
    for (const deadline = clock.monotonic() + withinMs; ; await clock.sleep(pollMs)) {
      try {
        return { kind: 'done', value: await call() };
      } catch (error) {
        const now = withCause(error);
        if (now !== unchanged && !sameButForNumbers(now, last)) log(`still waiting: ${now.slice(0, 300)}`);
        last = now;
      }
      if (clock.monotonic() >= deadline) return { kind: 'late', last, minutes: withinMs / 60_000 };
    }
  }
}

type Late = { kind: 'late'; last: string; minutes: number };
type Outcome<T> = { kind: 'done'; value: T } | Late;

const unchanged = 'no tick';

function failed({ last, minutes }: Late, look: string): Verdict {
  return { kind: 'failed', what: `after ${minutes} minutes: ${last}`, look };
}

function stopped(name: string, late: Late): Verdict {
  if (late.last !== unchanged)
    return failed(late, `Whether ${name} fires could not be seen. ${hintFor(late.last)}`);
  return {
    kind: 'failed',
    what: `the timer ${name} did not fire within ${late.minutes * 60} s`,
    look: `See whether ${name} is disabled or failing (Application Insights, requests), and whether another instance holds its lease (GET ops/locks). Restart the app once: az functionapp restart.`,
  };
}

/** `fetch failed` alone names neither host nor reason. */
function withCause(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? errorText(error) : `${errorText(error)}: ${errorText(cause)}`;
}

function sameButForNumbers(one: string, other: string): boolean {
  return one.replaceAll(/\d+/g, '') === other.replaceAll(/\d+/g, '');
}

/** Secrets whose references the platform has not resolved, as health tells. */
function unresolvedIn(body: string): string[] {
  return Object.entries(secrets).flatMap(([setting, secret]) =>
    new RegExp(`${setting}: is (missing|an unresolved)`).test(body) ? [secret] : [],
  );
}

/** The first thing to look at, by the last answer of ops. */
function hintFor(last: string): string {
  if (unresolvedIn(last).length > 0)
    return 'The vault has the secret, and the platform cannot read it: does the app\'s identity have Key Vault Secrets User on the vault, and does the vault\'s private endpoint resolve inside the network? docs/deploy.md, "The first deployment", has the command that makes it read again.';
  if (/STRIPE_SECRET_KEY: expected/.test(last))
    return 'The secret stripe-secret-key of the vault is no Stripe key: set the right one (docs/deploy.md, "Rotating the Stripe key").';
  if (/"paymentAccount":\{"ok":false/.test(last))
    return 'The key belongs to another Stripe account or mode than this deployment began with: docs/deploy.md, "The payment account is fixed".';
  if (/^GET ops\/\w+: 40[13] /.test(last))
    return 'If the answer names OPS_SIGN_IN, the platform does not tell the app that its sign-in is on (WEBSITE_AUTH_ENABLED). With a sign-in for ops, give this identity the app role ops.read or ops.write, add its client id to PAYONCE_OPS_ALLOWED_APPLICATIONS, and the identity to a group in PAYONCE_OPS_GROUP_IDS. Without one, the platform refuses the function key: restart the app.';
  if (/^GET ops\/\w+: 404 /.test(last))
    return 'The functions are not there: did the package arrive (container packages of the storage account), and does its worker start? See the exceptions in Application Insights.';
  return 'The answer names the service that does not respond: check its role assignments and its network. Without an answer, look at exceptions in Application Insights.';
}
