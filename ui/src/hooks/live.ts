import { createContext } from 'preact';

/** True if `usePolled` looks again by itself, so that pages stay up to date. */
export const Live = createContext(true);
