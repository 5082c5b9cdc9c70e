/**
 * Request unit estimates with two decimals, from the service's published charges: a point read costs 1 RU at
 * 1 KB and 10 RU at 100 KB, a write about 5.5 RU at 1 KB and 50 RU at 100 KB
 * (https://learn.microsoft.com/azure/cosmos-db/key-value-store-cost). The effect of the indexing policy is
 * not modelled.
 */
export const readCharge = (bytes: number) => round(1 + ((9 / 99) * Math.max(0, bytes - 1024)) / 1024);

export const writeCharge = (bytes: number) => round(5.5 + ((44.5 / 99) * Math.max(0, bytes - 1024)) / 1024);

/** A replacement both adds and removes index terms. */
export const replaceCharge = (bytes: number) => round(writeCharge(bytes) * 1.9);

/**
 * A query has a small base cost, plus a cost for each item that it reads, whether or not that is in the answer. The service's
 * own example reads 60,951 items for 4,060 RU
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/troubleshoot-query-performance).
 */
export const queryCharge = (visited: number, bytes: number) =>
  round(2.3 + visited * 0.05 + (bytes / 1024) * 0.03);

/** A feed's charge grows with size about as a point read's does, plus a little per item. */
export const feedCharge = (items: number, bytes: number) => round(1 + items * 0.02 + (bytes / 1024) * 0.1);

/** Cost of a refused write, batch or bulk operation. */
export const refusedCharge = 1.24;

const round = (charge: number) => Math.round(charge * 100) / 100;
