import { setTimeout as delay } from 'node:timers/promises';
import { createGate } from '../crash/gate.ts';
import { startTappedHost, type TappedHost } from '../crash/tappedHost.ts';
import type { LocalCloud } from '../support/localCloud.ts';
import type { SeededRandom } from '../support/seededRandom.ts';

/** Milliseconds that a process has to stop after SIGTERM. */
const graceMs = 45_000;
/** Milliseconds after a host's death until its work items become visible again. */
const giveBackMs = 5_000;

export interface Fleet extends AsyncDisposable {
  kill(host: number, awayMs: number): void;
  terminate(host: number, awayMs: number): void;
  pause(host: number, pauseMs: number): void;
  /** The address of any host that is up; undefined if none is. */
  anyAddress(): string | undefined;
  /** Resumes paused hosts. Resolves when every host is up. */
  recover(): Promise<void>;
  /** The output of every process, by instance. */
  logs(): Map<string, string[]>;
}

type Member =
  | { state: 'up'; host: TappedHost; paused: boolean }
  /** Dead or dying; `back` resolves when its successor is up. */
  | { state: 'away'; back: Promise<void> };

/**
 * Hosts that can be killed, told to stop and paused; each comes back by itself. A mishap for a host that is already away
 * or paused has no effect.
 */
export async function startFleet(
  cloud: LocalCloud,
  { hosts: size, env, random }: { hosts: number; env: Record<string, string>; random: SeededRandom },
): Promise<Fleet> {
  const logs = new Map<string, string[]>();
  const started = new Map<number, number>();
  const everything: TappedHost[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let ending = false;

  const members: Member[] = await Promise.all(
    Array.from({ length: size }, async (_, index) => up(await start(index))),
  );

  async function start(index: number): Promise<TappedHost> {
    const generation = (started.get(index) ?? 0) + 1;
    started.set(index, generation);
    const instance = `host-${index + 1}.${generation}`;
    const host = await startTappedHost(cloud, {
      gate: createGate(),
      env: { ...env, INSTANCE_ID: instance },
      killed: () => {},
    });
    logs.set(instance, host.process.lines);
    everything.push(host);
    return host;
  }

  function up(host: TappedHost): Member {
    return { state: 'up', host, paused: false };
  }

  function end(index: number, signal: 'SIGKILL' | 'SIGTERM', awayMs: number): void {
    const member = members[index];
    if (member?.state !== 'up' || member.paused || ending) return;
    const { host } = member;
    host.process.kill(signal);
    members[index] = { state: 'away', back: comeBack() };

    async function comeBack(): Promise<void> {
      const force = setTimeout(() => host.process.kill('SIGKILL'), graceMs);
      await host.process.exited;
      clearTimeout(force);
      await host[Symbol.asyncDispose]();
      // Ten minutes on the real host; five seconds here.
      void delay(giveBackMs, undefined, { ref: false })
        .then(() => host.giveBack())
        .catch((error: unknown) => console.error('work items of a dead host:', error));
      await delay(awayMs);
      if (!ending) members[index] = up(await start(index));
    }
  }

  const away = () => members.flatMap((member) => (member.state === 'away' ? [member.back] : []));

  return {
    kill: (index, awayMs) => end(index, 'SIGKILL', awayMs),
    terminate: (index, awayMs) => end(index, 'SIGTERM', awayMs),
    pause(index, pauseMs) {
      const member = members[index];
      if (member?.state !== 'up' || member.paused || ending) return;
      member.paused = true;
      member.host.process.kill('SIGSTOP');
      const timer = setTimeout(() => {
        timers.delete(timer);
        resume(member);
      }, pauseMs);
      timers.add(timer);
    },
    anyAddress() {
      const ready = members.flatMap((member) =>
        member.state === 'up' && !member.paused ? [member.host.process.address] : [],
      );
      return ready.length === 0 ? undefined : random.pick(ready);
    },
    async recover() {
      for (const member of members) resume(member);
      await Promise.all(away());
    },
    logs: () => logs,
    async [Symbol.asyncDispose]() {
      ending = true;
      for (const timer of timers) clearTimeout(timer);
      for (const host of everything) host.process.kill('SIGKILL');
      await Promise.allSettled(away());
      await Promise.all(everything.map((host) => host[Symbol.asyncDispose]()));
    },
  };
}

function resume(member: Member): void {
  if (member.state !== 'up' || !member.paused) return;
  member.host.process.kill('SIGCONT');
  member.paused = false;
}
