import { describe, expect, test } from 'vitest';
import { bodyValue } from './bicep/bodyValue.ts';
import { readInfra } from './bicep/readBicep.ts';
import { sources } from './sources.ts';

const functionApp = readInfra('modules/functionApp.bicep');
const settings = (opsClientId: string, opsGroupIds: string[] = []) =>
  bodyValue(functionApp, 'authentication', { opsClientId, opsGroupIds });

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
              defaultAuthorizationPolicy: { allowedPrincipals: { groups: ['a', 'b'] } },
            },
          },
        },
      },
    });
    expect(settings(id)).toMatchObject({
      properties: {
        identityProviders: { azureActiveDirectory: { validation: { defaultAuthorizationPolicy: {} } } },
      },
    });
  });

  test.each(['', '11111111-2222-3333-4444-555555555555'])(
    'leaves the route of the provider’s events open, and no other (client id %j)',
    (id) => {
      const route = /route: '([^']+)'[^}]*authLevel: 'anonymous'/s;
      const open = [...sources].flatMap(([, text]) => route.exec(text)?.[1] ?? []);
      expect(settings(id)).toMatchObject({
        properties: { globalValidation: { excludedPaths: open.map((path) => `/api/${path}`) } },
      });
      expect(open).toEqual(['payments/events']);
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
