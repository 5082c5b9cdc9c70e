import type { Scenario, Verdict } from './trial.ts';

export interface Conclusion {
  /** What came out, in words. */
  text: string;
  passed: boolean;
}

/**
 * What a sweep has shown. It has passed if at least one point held, none is broken, and none was not reached; only where
 * races decide by which requests the work goes (`Scenario.races`) may points be not reached. Pure.
 */
export function conclude(tried: readonly { scenario: Scenario; verdict: Verdict }[]): Conclusion {
  const held = tried.filter(({ verdict }) => verdict.kind === 'held').length;
  const broken = tried.filter(({ verdict }) => verdict.kind === 'broken').length;
  const missed = tried.filter(({ verdict }) => verdict.kind === 'notReached');
  const allowed = missed.filter(({ scenario }) => scenario.races === true);
  const names = [...new Set(allowed.map(({ scenario }) => scenario.name))].join(', ');
  const notes = [
    ...(tried.length === 0 ? ['There is no such crash point.'] : []),
    ...(allowed.length > 0
      ? [`${allowed.length} of those not reached are in ${names}, where races decide: that is allowed.`]
      : []),
  ];
  return {
    text: [
      `${tried.length} crash points: ${held} held, ${broken} broken, ${missed.length} not reached.`,
      ...notes,
    ].join('\n'),
    passed: held > 0 && broken === 0 && missed.length === allowed.length,
  };
}
