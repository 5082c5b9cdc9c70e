/**
 * Estimates of request units, from the service's published figures: a point read is 1 RU at 1 KB and 10 RU at 100 KB, a
 * write about 5.5 RU at 1 KB and 50 RU at 100 KB (https://learn.microsoft.com/azure/cosmos-db/key-value-store-cost). What
 * the indexing policy adds or saves is not modelled. Two decimals.
 */
export const readCharge = (bytes: number) => round(1 + ((9 / 99) * Math.max(0, bytes - 1024)) / 1024);

export const writeCharge = (bytes: number) => round(5.5 + ((44.5 / 99) * Math.max(0, bytes - 1024)) / 1024);

/** A replacement writes and removes index terms. */
export const replaceCharge = (bytes: number) => round(writeCharge(bytes) * 1.9);

/** A query costs a little by itself, more by result. */
export const queryCharge = (items: number, bytes: number) =>
  round(2.3 + items * 0.05 + (bytes / 1024) * 0.03);

/** Feeds cost about as the points that they return. */
export const feedCharge = (items: number, bytes: number) => round(1 + items * 0.02 + (bytes / 1024) * 0.1);

/** What a refused write costs, and a batch operation that was not done. */
export const refusedCharge = 1.24;

const round = (charge: number) => Math.round(charge * 100) / 100;
