import { expect, test, vi } from 'vitest';
import { never } from '../../../leases/src/testing/subject.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

test('a SUBSCRIBE without an answer is given up, and the next waiter tries again', async () => {
  const limit = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const late = new AbortController();
    setTimeout(() => late.abort(new Error('no answer')), 20);
    return late.signal;
  });
  const network = { isSilent: true };
  const ended: string[] = [];
  const client = {
    evalsha: async () => null,
    eval: async () => null,
    duplicate: () => ({
      on() {},
      subscribe: () => (network.isSilent ? new Promise<never>(() => {}) : Promise.resolve()),
      disconnect: () => void ended.push('disconnected'),
    }),
  };
  try {
    const store = redisLockStore(client);
    await expect(store.wait?.('jobs/pay', never)).rejects.toThrow('no answer');
    expect(ended).toEqual(['disconnected']);
    network.isSilent = false;
    expect(await store.wait?.('jobs/pay', never)).toMatchObject({ ticket: expect.any(String) });
    await store[Symbol.asyncDispose]?.();
    expect(ended).toEqual(['disconnected', 'disconnected']);
  } finally {
    limit.mockRestore();
  }
});
