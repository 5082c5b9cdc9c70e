/**
 * A Functions host with one instance of the app. It runs functions side by side, keeps the locks of their messages, and ends
 * the process if one takes longer than ten minutes.
 */
import { type App, createApp } from '../../../src/app.ts';
import { functionTimeoutMs } from '../../../src/platform/stopping.ts';
import type { Attributes, Telemetry } from '../../../src/platform/telemetry.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import type { Machine } from '../engine/machine.ts';
import type { Network } from '../engine/network.ts';
import { cloudOf } from '../world/cloud.ts';
import type { SentTransaction } from '../world/documents.ts';
import type { TrustedUntil } from '../world/locks.ts';
import { providerOf } from '../world/providerOf.ts';
import type { World } from '../world/world.ts';

export interface Host {
  readonly number: number;
  readonly machine: Machine;
  readonly app: App;
  /** Whether it fires timers and takes messages. */
  listens: boolean;
  /** Messages and items under way, by kind. */
  readonly busy: Map<string, number>;
  /** Called when the process dies. */
  readonly onDeath: Set<() => void>;
  /** Runs a function: `ended` is called unless the process dies first. */
  run(kind: string, work: () => Promise<unknown>, ended: (error: unknown, failed: boolean) => void): void;
}

export interface HostParts {
  world: World;
  network: Network;
  settings: Settings;
  listsEvents: boolean;
  onSend: (sent: SentTransaction, trustedUntil: TrustedUntil) => void;
  /** A function took too long. */
  onTimeout: (host: Host, kind: string) => void;
}

export function createHost(number: number, machine: Machine, parts: HostParts): Host {
  const { world, network, settings } = parts;
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const { provider, events } = providerOf(world.provider, machine, network, {
    timeoutMs,
    onCharge: (invoiceId) => world.called.add(invoiceId),
  });
  const app = createApp(settings, {
    clock: machine.clock,
    telemetry: telemetryInto(world),
    log() {},
    provider,
    ...(parts.listsEvents ? { events } : {}),
    cloud: () => cloudOf(world, machine, network, settings, parts.onSend).cloud,
  });
  const busy = new Map<string, number>();
  const host: Host = {
    number,
    machine,
    app,
    listens: true,
    busy,
    onDeath: new Set(),
    run(kind, work, ended) {
      busy.set(kind, (busy.get(kind) ?? 0) + 1);
      const cancel = machine.later(functionTimeoutMs, () => parts.onTimeout(host, kind));
      const end = (error: unknown, failed: boolean) => {
        if (!machine.alive) return;
        cancel();
        busy.set(kind, (busy.get(kind) ?? 1) - 1);
        ended(error, failed);
      };
      work().then(
        (value) => end(value, false),
        (error: unknown) => end(error, true),
      );
    },
  };
  return host;
}

function telemetryInto(world: World): Telemetry {
  const { gauges, counters, timeline } = world;
  const report = (name: string, value: number, attributes: Attributes = {}) =>
    world.onReport?.({ at: timeline.now, name, value, attributes });
  return {
    count(name, attributes, by = 1) {
      counters.set(name, (counters.get(name) ?? 0) + by);
      report(name, by, attributes);
    },
    record(name, value, attributes) {
      gauges.set(name, value);
      report(name, value, attributes);
    },
  };
}
