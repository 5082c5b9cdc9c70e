import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { MeAnswer } from '../../../src/ops/answers/overviewAnswers.ts';

/** The user of the page, and the deployment that it shows. */
export const Session = createContext<MeAnswer>({
  actor: '',
  roles: [],
  environment: '',
  version: '',
  job: '',
  payments: null,
  calls: [],
});

/** Why the user cannot change anything; undefined if they can. */
export function useReadOnly(): string | undefined {
  const { roles } = useContext(Session);
  return roles.includes('ops.write') ? undefined : 'You can read; changes need the role ops.write.';
}

/** True if the app that answers has this call: during a deployment, an older release may not. */
export function useHasCall(call: string): boolean {
  return useContext(Session).calls.includes(call);
}
