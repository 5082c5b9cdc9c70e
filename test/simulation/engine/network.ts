/**
 * Calls between a machine and the world. Each takes time both ways; a call that was sent takes effect even if its sender is
 * dead by then. Faults decide what becomes of it.
 */
import type { Service } from '../plan/faults.ts';
import type { Machine, Timeline } from './machine.ts';

/** Fate of one call. */
export type Fate =
  /** It arrives after `thereMs`, and its answer is back `backMs` later. */
  | { kind: 'answered'; thereMs: number; backMs: number }
  /** It takes effect, and after `backMs` its sender only learns that there is no answer. */
  | { kind: 'answerLost'; thereMs: number; backMs: number }
  /** It never arrives. */
  | { kind: 'lost'; afterMs: number }
  /** The service is busy, or refuses the caller. */
  | { kind: 'refused'; afterMs: number; denied: boolean }
  /** The client's connection breaks after the effect; it sends the call again and gets the second answer. */
  | { kind: 'repeated'; thereMs: number; againMs: number; backMs: number }
  /** The sender dies before it is sent, or after its effect. */
  | { kind: 'crash'; when: 'before' | 'after'; thereMs: number; downMs: number };

/** The call failed in flight. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly reason: 'noAnswer' | 'busy' | 'denied';
  /** Code that the SDKs look at: letters for a broken connection, a status otherwise. */
  readonly code: string | number;

  constructor(reason: CallFailed['reason']) {
    super(reason);
    this.reason = reason;
    this.code = { noAnswer: 'ECONNRESET', busy: 503, denied: 403 }[reason];
  }
}

export interface Network {
  /**
   * Calls a service. `effect` runs in the world, at the time of its arrival.
   *
   * @throws {CallFailed} and what `effect` throws; the reason of `signal` if that aborts first
   */
  call<T>(
    machine: Machine,
    service: Service,
    name: string,
    effect: Effect<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

type Effect<T> = () => T | Promise<T>;

export interface NetworkParts {
  timeline: Timeline;
  fateOf: (machine: Machine, service: Service, name: string) => Fate;
  crash: (machine: Machine, downMs: number) => void;
  note: (machine: Machine, service: Service, name: string, fate: Fate['kind']) => void;
}

export function createNetwork({ timeline, fateOf, crash, note }: NetworkParts): Network {
  return {
    call: (machine, service, name, effect, signal) =>
      new Promise((resolve, reject) => {
        // Code of a dead machine may still run to its next `await`: it sends nothing.
        if (!machine.alive) return;
        if (signal?.aborted) return reject(signal.reason as Error);
        const fate = fateOf(machine, service, name);
        note(machine, service, name, fate.kind);
        const abort = () => reject(signal?.reason as Error);
        signal?.addEventListener('abort', abort, { once: true });
        const answer = (ms: number, give: () => void) =>
          machine.later(ms, () => {
            signal?.removeEventListener('abort', abort);
            give();
          });
        const fail = (ms: number, reason: CallFailed['reason']) =>
          answer(ms, () => reject(new CallFailed(reason)));

        switch (fate.kind) {
          case 'answered':
            inWorld(fate.thereMs, () => deliver(effect(), fate.backMs));
            break;
          case 'answerLost':
            inWorld(fate.thereMs, () => {
              ignore(effect);
              fail(fate.backMs, 'noAnswer');
            });
            break;
          case 'repeated':
            // The client of the provider repeats nothing by itself (stripe/stripeClient.ts), so it has the first answer.
            if (service === 'provider') {
              inWorld(fate.thereMs, () => deliver(effect(), fate.backMs));
              inWorld(fate.thereMs + fate.againMs, () => ignore(effect));
              break;
            }
            inWorld(fate.thereMs, () => ignore(effect));
            inWorld(fate.thereMs + fate.againMs, () => deliver(effect(), fate.backMs));
            break;
          case 'lost':
            fail(fate.afterMs, 'noAnswer');
            break;
          case 'refused':
            fail(fate.afterMs, fate.denied ? 'denied' : 'busy');
            break;
          case 'crash':
            if (fate.when === 'before') crash(machine, fate.downMs);
            else
              inWorld(fate.thereMs, () => {
                ignore(effect);
                crash(machine, fate.downMs);
              });
        }

        function deliver(result: ReturnType<typeof effect>, backMs: number): void {
          if (result instanceof Promise) {
            result.then(
              (value) => answer(backMs, () => resolve(value)),
              (error: unknown) => answer(backMs, () => reject(error)),
            );
          } else answer(backMs, () => resolve(result));
        }
      }),
  };

  /** An error of the effect is an answer, too. */
  function inWorld(ms: number, run: () => void): void {
    timeline.events.add(timeline.now + Math.ceil(ms), () => {
      timeline.running = undefined;
      run();
    });
  }

  function ignore(effect: Effect<unknown>): void {
    void Promise.resolve()
      .then(effect)
      .catch(() => {});
  }
}
