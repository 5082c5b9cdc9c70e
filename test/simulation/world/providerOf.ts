/** The payment provider as one machine reaches it. What goes wrong on the way is classified as the Stripe adapter does. */
import type {
  BlockedCall,
  PaymentProvider,
  ProviderAccount,
  ProviderEvents,
  ProviderSilent,
} from '../../../src/paying/paymentProvider.ts';
import type { Machine } from '../engine/machine.ts';
import { CallFailed, type Network } from '../engine/network.ts';
import type { Provider } from './provider.ts';

type Silent = Exclude<ProviderSilent, BlockedCall>;
type NotMade = { kind: 'transient'; code: string; message: string };

export interface ProviderCallWatch {
  /** No call is waited for longer, in milliseconds. */
  timeoutMs: number;
  /** A call is going to be sent. */
  onCall: (name: string) => void;
  /** A call of any kind is made. Returns what is called with its answer, which may never come. */
  onAsk: () => (failed: boolean) => void;
  /** A charge is going to be sent. Returns what is called with the kind of its outcome. */
  onCharge: (invoiceId: string) => (kind: string) => void;
}

export function providerOf(
  provider: Provider,
  machine: Machine,
  network: Network,
  { timeoutMs, onCall, onAsk, onCharge }: ProviderCallWatch,
): { provider: PaymentProvider & ProviderAccount; events: ProviderEvents } {
  /** The answer, or that there is none: no call is waited for longer than its time-out. */
  function ask<T extends { kind: string }>(name: string, run: () => T): Promise<T | Silent | CallFailed> {
    if (machine.alive && name !== 'account') onCall(name);
    const answered = onAsk();
    return new Promise<T | Silent | CallFailed>((resolve, reject) => {
      const cancel = machine.later(timeoutMs, () =>
        resolve({ kind: 'unknown', message: 'no answer in time' }),
      );
      network.call(machine, 'provider', name, refusedOnce(run)).then(
        (answer) => {
          cancel();
          resolve(answer);
        },
        (error: unknown) => {
          cancel();
          if (error instanceof CallFailed) resolve(error);
          else reject(error);
        },
      );
    }).then((answer) => {
      answered(answer instanceof CallFailed || answer.kind === 'unknown');
      return answer;
    });
  }

  async function orSilent<T extends { kind: string }>(name: string, run: () => T): Promise<T | Silent> {
    const answer = await ask(name, run);
    return answer instanceof CallFailed ? { kind: 'unknown', message: answer.message } : answer;
  }

  async function orNotMade<T extends { kind: string }>(
    name: string,
    run: () => T,
  ): Promise<T | Silent | NotMade> {
    const answer = await ask(name, run);
    if (!(answer instanceof CallFailed)) return answer;
    if (answer.reason !== 'denied') return { kind: 'unknown', message: answer.message };
    return { kind: 'transient', code: 'connection', message: 'nothing was sent, or the key was refused' };
  }

  /**
   * A copy of a request that was refused is refused, too. What repeats requests on their way does so because no answer comes,
   * and this one had its answer.
   */
  function refusedOnce<T extends { kind: string }>(run: () => T): () => T {
    let refusal: T | undefined;
    return () => {
      if (refusal !== undefined) return refusal;
      const answer = run();
      if (answer.kind === 'rateLimited') refusal = answer;
      return answer;
    };
  }

  return {
    provider: {
      async charge(request) {
        const ended = machine.alive ? onCharge(request.invoiceId) : () => {};
        const outcome = await orNotMade(`charge ${request.idempotencyKey}`, () => provider.charge(request));
        ended(outcome.kind);
        return outcome;
      },
      find: (sought) => orSilent(`find ${sought.invoiceId}`, () => provider.find(sought)),
      retrieve: (id, deployment) => orSilent(`retrieve ${id}`, () => provider.retrieve(id, deployment)),
      cancel: (id) => orSilent(`cancel ${id}`, () => provider.cancel(id)),
      refund: (request) => orNotMade(`refund ${request.idempotencyKey}`, () => provider.refund(request)),
      defaultMethod: (id) => orSilent(`default method ${id}`, () => provider.defaultMethod(id)),
      account: () => orSilent('account', () => ({ kind: 'account', id: 'acct-1', mode: 'test' }) as const),
    },
    events: { list: (query) => orSilent('events', () => provider.list(query)) },
  };
}
