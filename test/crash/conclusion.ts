import type { Scenario, Verdict } from './trial.ts';

export interface Conclusion {
  text: string;
  passed: boolean;
}

/**
 * The result of a sweep. It passes if at least one point held, none broke and none was left unreached. Unreached points
 * are allowed only where races decide which requests are made (`Scenario.races`). Pure.
 */
export function conclude(tried: readonly { scenario: Scenario; verdict: Verdict }[]): Conclusion {
  const held = tried.filter(({ verdict }) => verdict.kind === 'held').length;
  const broken = tried.filter(({ verdict }) => verdict.kind === 'broken').length;
  const missed = tried.filter(({ verdict }) => verdict.kind === 'notReached');
  const allowed = missed.filter(({ scenario }) => scenario.races === true);
  const names = [...new Set(allowed.map(({ scenario }) => scenario.name))].join(', ');
  const notes = [
    ...(tried.length === 0 ? ['No crash point was tried.'] : []),
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
