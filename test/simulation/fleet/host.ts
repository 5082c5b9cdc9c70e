/**
 * A Functions host with one instance of the app. It runs functions side by side, keeps the locks of their messages, and ends
 * the process if one takes longer than ten minutes.
 */

import { functionTimeoutMs } from '../../../packages/jobs/src/timeBudget.ts';
import type { Attributes, Telemetry } from '../../../packages/leases/src/telemetry.ts';
import { type App, createApp } from '../../../src/app.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import type { Machine } from '../engine/machine.ts';
import type { Network } from '../engine/network.ts';
import type { CallChecks } from '../invariants/calls.ts';
import type { StartChecks } from '../invariants/starts.ts';
import type { StepChecks } from '../invariants/steps.ts';
import { type CloudWatch, cloudOf } from '../world/cloud.ts';
import { providerOf } from '../world/providerOf.ts';
import type { World } from '../world/world.ts';
import { type Activity, activity, runAs } from './activity.ts';

export interface Host {
  readonly number: number;
  readonly machine: Machine;
  readonly app: App;
  /** True while it fires timers and takes messages. */
  listens: boolean;
  /** Messages and items in flight, by kind. */
  readonly busy: Map<string, number>;
  /** Called when the process dies. */
  readonly onDeath: Set<() => void>;
  /** Runs a function: `ended` is called unless the process dies first. */
  run(
    kind: string,
    work: () => Promise<unknown>,
    ended: (answer: unknown, failed: boolean) => void,
    command?: Activity['command'],
  ): void;
}

export interface HostParts {
  world: World;
  network: Network;
  settings: Settings;
  listsEvents: boolean;
  checks: Pick<StepChecks, 'sent'> & CallChecks & StartChecks;
  /** A function took too long. */
  onTimeout: (host: Host, kind: string) => void;
}

export function createHost(number: number, machine: Machine, parts: HostParts): Host {
  const { world, network, settings, checks } = parts;
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const { provider, events } = providerOf(world.provider, machine, network, {
    timeoutMs,
    onCall: (name) => checks.calling(machine, name),
    onAsk: () => checks.asking(),
    onCharge(invoiceId) {
      checks.called(invoiceId);
      const ended = checks.charging(machine, invoiceId);
      return (kind) => {
        ended(kind);
        if (kind === 'rateLimited') checks.turnedAway(invoiceId);
      };
    },
  });
  const watch: CloudWatch = {
    onSend(sent, trustedUntil) {
      checks.sent(sent, trustedUntil);
      checks.sending(sent.operations);
    },
    onUnanswered(ids) {
      const running = activity();
      if (running !== undefined) running.unanswered = true;
      checks.unanswered(ids);
    },
    onRefuse: (why) => checks.refusing(machine, why),
    onRecord(of, trustedUntil) {
      if (typeof of === 'string') checks.recordingMessage(machine, of);
      else checks.recording(machine, of, trustedUntil);
    },
  };
  // With a webhook the app lists nothing, and nobody calls it here.
  const webhookSecrets = parts.listsEvents ? [] : ['whsec_simulated'];
  const app = createApp(
    { ...settings, webhookSecrets },
    {
      clock: machine.clock,
      telemetry: telemetryInto(world),
      log() {},
      provider,
      events,
      cloud: () => cloudOf(world, machine, network, settings, watch).cloud,
    },
  );
  const busy = new Map<string, number>();
  const host: Host = {
    number,
    machine,
    app,
    listens: true,
    busy,
    onDeath: new Set(),
    run(kind, work, ended, command) {
      busy.set(kind, (busy.get(kind) ?? 0) + 1);
      const cancel = machine.later(functionTimeoutMs, () => parts.onTimeout(host, kind));
      const end = (error: unknown, failed: boolean) => {
        if (!machine.alive) return;
        cancel();
        busy.set(kind, (busy.get(kind) ?? 1) - 1);
        checks.ended(began);
        ended(error, failed);
      };
      const began: Activity = {
        kind,
        machine,
        beganAt: world.timeline.now,
        ...(command === undefined ? {} : { command }),
        starts: new Map(),
        unanswered: false,
      };
      runAs(began, work).then(
        (value) => end(value, false),
        (error: unknown) => {
          if (machine.alive) checks.failed(began, error);
          end(error, true);
        },
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
