import { createContext } from 'preact';
import type { PauseAnswer } from '../../../src/ops/answers/pauseAnswers.ts';

/** The state that every page shows. */
export interface AppState {
  /** The pause that is in force; null if there is none, undefined before that is known. */
  pause: PauseAnswer | null | undefined;
  /** Time of the latest answer (milliseconds) of an app that does not answer; undefined if it does. */
  away: number | undefined;
  /** Looks at once. */
  reload: () => void;
}

export const State = createContext<AppState>({ pause: undefined, away: undefined, reload: () => {} });
