/** Whose work is left out of a batch. */
export interface LeftOut {
  customers: readonly string[];
  currencies: readonly string[];
}

export const nobody: LeftOut = { customers: [], currencies: [] };

/** Claims that are looked back on, and how many of them say something. */
const longestMemory = 1_000;
const fewest = 100;

/** From this share of the latest claims on, a customer, a currency or a shard is a flood. */
const floodShare = 0.4;

interface Claimed {
  shard: string;
  customerId: string;
  currency: string;
}

/** What one group has claimed lately, and for whom. */
export interface FairShare {
  add(shard: string, claims: readonly { customerId: string; currency: string }[]): void;
  /**
   * What to leave out, in turns, so that a flood does not hold up the others. One at a time: a customer's flood is not
   * stopped by leaving out the currency of everybody.
   */
  leaveOut(): readonly LeftOut[];
  /** Whether one shard is a flood. */
  oneShard(): boolean;
  /** How many of the latest claims were in this shard. */
  ofShard(shard: string): number;
}

export function createFairShare(): FairShare {
  let latest: Claimed[] = [];

  return {
    add(shard, claims) {
      const added = claims.map(({ customerId, currency }) => ({ shard, customerId, currency }));
      latest = [...latest, ...added].slice(-longestMemory);
    },
    leaveOut() {
      const [customers, currencies] = [floods('customerId'), floods('currency')];
      return [
        ...(customers.length === 0 ? [] : [{ customers, currencies: [] }]),
        ...(currencies.length === 0 ? [] : [{ customers: [], currencies }]),
      ];
    },
    oneShard: () => floods('shard').length > 0,
    ofShard: (shard) => latest.filter((claim) => claim.shard === shard).length,
  };

  function floods(of: keyof Claimed): string[] {
    if (latest.length < fewest) return [];
    const counts = Map.groupBy(latest, (claim) => claim[of]);
    const most = [...counts].filter(([, all]) => all.length >= latest.length * floodShare);
    return most.map(([name]) => name).toSorted();
  }
}
