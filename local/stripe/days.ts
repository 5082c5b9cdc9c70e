/** So many days, in milliseconds. */
export const days = (count: number): number => count * 24 * 3600 * 1000;
