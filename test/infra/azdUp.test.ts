import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeWith, findProgram } from '../support/servers/findProgram.ts';
import { azdProject, azdUp } from './azdUp.ts';
import { root } from './sources.ts';

const project = azdProject.parse(parse(readFileSync(join(root, 'azure.yaml'), 'utf8')));
const ten = Array.from({ length: 10 });

describeWith({ sh: findProgram('sh'), seq: findProgram('seq') }, 'azd up', () => {
  test.each([
    ['a cold clone', { warm: false }],
    ['a warm clone', { warm: true }],
  ])('ten of ten succeed from %s, with one installation each', async (_, clone) => {
    for (const _ of ten) {
      const { called, failed } = await azdUp(project, clone);
      expect(failed).toEqual([]);
      expect(called).toEqual([
        'npm ci',
        'npm run check-target -- --azd',
        'npm run check-key -- --azd',
        'npm run check-key -- --forget',
        'npm run package',
        'npm run build',
        'npm run verify-deployment',
      ]);
    }
  });

  test('without the workflow, packaging and the check of the key meet in one folder: at least one of ten fails', async () => {
    const { workflows: _, ...unordered } = project;
    let failures = 0;
    for (const _ of ten) failures += (await azdUp(unordered, { warm: false })).failed.length;
    expect(failures).toBeGreaterThan(0);
  });

  test.each(['package --all', 'provision', 'deploy --all'])(
    '`azd %s` alone works in a cold clone',
    async (azd) => {
      const alone = { ...project, workflows: { up: { steps: [{ azd }] } } };
      expect((await azdUp(alone, { warm: false })).failed).toEqual([]);
    },
  );
});
