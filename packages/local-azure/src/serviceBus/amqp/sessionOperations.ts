import { z } from 'zod';
import { bytes, gone, type Operation, ok } from './managementCall.ts';
import { types } from './rhea.ts';

const session = z.object({ 'session-id': z.string() });
const newState = z.object({ 'session-id': z.string(), 'session-state': bytes.nullish() });

/** Operations for the holder of a session. To anybody else its lock is lost. */
export const sessionOperations: Record<string, Operation> = {
  'com.microsoft:renew-session-lock': ({ queue, now, body, holdsSession }) => {
    const sessionId = session.parse(body)['session-id'];
    const until = holdsSession(sessionId) ? queue.sessionLocks.renew(sessionId, now) : undefined;
    if (until === undefined) throw gone(queue);
    return ok({ expiration: types.wrap_timestamp(until) });
  },

  'com.microsoft:get-session-state': ({ queue, body, holdsSession }) => {
    const sessionId = session.parse(body)['session-id'];
    if (!holdsSession(sessionId)) throw gone(queue);
    return ok({ 'session-state': queue.sessionLocks.state(sessionId) });
  },

  'com.microsoft:set-session-state': ({ queue, body, holdsSession }) => {
    const request = newState.parse(body);
    if (!holdsSession(request['session-id'])) throw gone(queue);
    queue.sessionLocks.setState(request['session-id'], request['session-state'] ?? null);
    return ok();
  },
};
