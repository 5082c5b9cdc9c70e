import { createContext } from 'preact';

/** Whether lists and figures keep themselves up to date. */
export const Live = createContext(true);
