/**
 * What leases protect in the model: a store that takes writes with a fencing token and refuses one smaller
 * than it has seen, as the claim transaction does.
 */
export interface FencedRegister {
  write(fence: number): 'accepted' | 'fencedOut';
  /** The fences of the accepted writes, in order. */
  accepted: readonly number[];
}

export function fencedRegister(): FencedRegister {
  const accepted: number[] = [];
  let seen = 0;
  return {
    accepted,
    write(fence) {
      if (fence < seen) return 'fencedOut';
      seen = fence;
      accepted.push(fence);
      return 'accepted';
    },
  };
}
