import { expect, inject, test } from 'vitest';
import { ended, newHubName, start, startDurableHost, statusWhen } from './durableApp.ts';

test('activities spread over two hosts; if one is killed, the other finishes, each result once', async () => {
  const hub = newHubName();
  await using first = await startDurableHost(inject('azurite'), hub, 'first');
  await using second = await startDurableHost(inject('azurite'), hub, 'second');
  // Both hosts hold partitions before the work begins.
  await second.line(/taken by second/);

  const ids = await Promise.all(
    Array.from({ length: 4 }, () => start(second, 'fanOut', { count: 10, ms: 400 })),
  );
  for (const id of ids) {
    await statusWhen(second, id, ({ runtimeStatus }) => runtimeStatus === 'Running');
  }
  await first.line(/slow .* executing|slow .* executed/);
  first.kill('SIGKILL');
  const killedAt = performance.now();
  await first.exited;

  for (const id of ids) {
    const {
      runtimeStatus,
      output,
      historyEvents = [],
    } = await ended(second, id, 'showHistory=true&showHistoryOutput=true');
    expect(runtimeStatus).toBe('Completed');
    expect(output).toHaveLength(10);
    const answered = historyEvents
      .filter(({ EventType }) => EventType === 'TaskCompleted')
      .map(({ TaskScheduledId }) => TaskScheduledId);
    expect(answered.sort((a = 0, b = 0) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
  // Messages that the killed host had received are visible again after a minute: no host.json can make that
  // shorter.
  expect(performance.now() - killedAt).toBeLessThan(90_000);
}, 120_000);
