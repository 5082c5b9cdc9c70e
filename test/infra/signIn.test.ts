import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpRoutes } from '../support/httpRoutes.ts';
import { bodyValue } from './bicep/bodyValue.ts';
import { variableValue } from './bicep/evaluate.ts';
import { readInfra } from './bicep/readBicep.ts';
import { root } from './sources.ts';

/** The Azure CLI's client id, the default in main. */
const cli = '04b07795-8ddb-461a-bbee-02f9e1bf7b46';
const functionApp = readInfra('modules/functionApp.bicep');
const settings = (opsClientId: string, opsGroupIds: string[] = []) =>
  bodyValue(functionApp, 'authentication', { opsClientId, opsGroupIds, opsAllowedApplications: [cli] });

describe('the sign-in for ops', () => {
  test('is required if there is an app registration', () => {
    const id = '11111111-2222-3333-4444-555555555555';
    expect(settings(id, ['a', 'b'])).toMatchObject({
      name: 'authsettingsV2',
      properties: {
        platform: { enabled: true },
        globalValidation: { requireAuthentication: true, unauthenticatedClientAction: 'Return401' },
        identityProviders: {
          azureActiveDirectory: {
            enabled: true,
            registration: { clientId: id },
            validation: {
              allowedAudiences: [`api://${id}`, id],
              defaultAuthorizationPolicy: {
                allowedApplications: [id, cli],
                allowedPrincipals: { groups: ['a', 'b'] },
              },
            },
          },
        },
      },
    });
    expect(settings(id)).toMatchObject({
      properties: {
        identityProviders: {
          azureActiveDirectory: {
            validation: { defaultAuthorizationPolicy: { allowedApplications: [id, cli] } },
          },
        },
      },
    });
  });

  test('is required by the app, too, so that it fails closed if the platform does not sign in', () => {
    const required = (opsClientId: string) => variableValue(functionApp, 'appSettings', { opsClientId });
    expect(required('11111111-2222-3333-4444-555555555555')).toMatchObject({ OPS_SIGN_IN: 'required' });
    expect(required('')).toMatchObject({ OPS_SIGN_IN: '' });
  });

  test('names the Azure CLI by default, which the setup of the sign-in admits', () => {
    expect(readInfra('main.bicep').params.get('opsAllowedApplications')?.value?.text).toBe(`['${cli}']`);
    expect(readFileSync(join(root, 'infra/setup/ops-sign-in.sh'), 'utf8')).toContain(cli);
  });

  test.each(['', '11111111-2222-3333-4444-555555555555'])(
    'leaves the dashboard’s page and the route of the provider’s events open, each path exactly (client id %j)',
    (id) => {
      const open = httpRoutes().flatMap(({ path, open }) => (open ? [path] : []));
      expect(open.toSorted()).toEqual(['ops/ui/{*path}', 'payments/events']);
      const views = [...readFileSync(join(root, 'ui/src/Routes.tsx'), 'utf8').matchAll(/case '(\w+)':/g)].map(
        ([, view]) => `/${view}`,
      );
      // Files that the page loads (test/dashboard/bundle.test.ts).
      const files = ['/assets/index.css', '/assets/index.js', '/icon.svg'];
      const paths = ['', '/', ...files, ...views.toSorted()].map((path) => `/api/ops/ui${path}`);
      expect(settings(id)).toMatchObject({
        properties: { globalValidation: { excludedPaths: [...paths, '/api/payments/events'] } },
      });
    },
  );

  test('is switched off if there is none: settings from an earlier deployment do not remain', () => {
    expect(settings('')).toMatchObject({
      name: 'authsettingsV2',
      properties: {
        platform: { enabled: false },
        globalValidation: { requireAuthentication: false, unauthenticatedClientAction: 'AllowAnonymous' },
        identityProviders: {},
      },
    });
    // Unconditional: the resource is always deployed.
    expect(functionApp.resources.get('authentication')?.value?.type).toBe('object');
  });
});
