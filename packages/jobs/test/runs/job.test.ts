import { expect, test } from 'vitest';
import { aJob } from '../../../../test/support/aJob.ts';

test.each(['north/south', 'north~south'])('a group called %s is refused: no run could record it', (group) => {
  expect(() => aJob({ north: 1, [group]: 1 })).toThrow(
    `groups: expected names without / and ~, got "${group}" in job count`,
  );
});
