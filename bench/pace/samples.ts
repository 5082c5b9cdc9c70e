/** Counts of the stand-ins at a moment. They only grow. */
export interface Sample {
  /** Milliseconds on the monotonic clock. */
  at: number;
  /** Calls to the payment provider. */
  calls: number;
  refused: number;
  charges: number;
  /** Cosmos requests other than those to the container `pace`. */
  cosmos: number;
  /** Cosmos requests to the container `pace`, which holds the shared schedule of payment calls. */
  pace: number;
  /** Processor time that the machine has used, of all its processors together, in milliseconds. */
  busyMs: number;
}

/** Counts between two moments. */
export interface Span extends Omit<Sample, 'at'> {
  seconds: number;
}

/**
 * Counts between the first sample at or after `from` and the last at or before `until`. A poll can come late on
 * a busy machine, so the span is as long as its samples are apart. Pure.
 *
 * @throws if there are no two samples in between
 */
export function spanOf(samples: readonly Sample[], from: number, until: number): Span {
  const within = samples.filter(({ at }) => at >= from && at <= until);
  const [first] = within;
  const last = within.at(-1);
  if (first === undefined || last === undefined || first === last) {
    throw new Error(`too few samples between ${from} and ${until} ms`);
  }
  return {
    seconds: (last.at - first.at) / 1000,
    calls: last.calls - first.calls,
    refused: last.refused - first.refused,
    charges: last.charges - first.charges,
    cosmos: last.cosmos - first.cosmos,
    pace: last.pace - first.pace,
    busyMs: last.busyMs - first.busyMs,
  };
}

/** The share of an allowance (calls per second) that became charges. Pure. */
export function shareOf({ charges, seconds }: Pick<Span, 'charges' | 'seconds'>, rate: number): number {
  return charges / (rate * seconds);
}

/** The share of the calls that were refused; 0 if there was none. Pure. */
export function refusedShareOf({ calls, refused }: Pick<Span, 'calls' | 'refused'>): number {
  return calls === 0 ? 0 : refused / calls;
}

/** Charges in each interval between two samples. Pure. */
export function chargesBySample(samples: readonly Sample[]): number[] {
  return samples.slice(1).map(({ charges }, index) => charges - (samples[index]?.charges ?? 0));
}
