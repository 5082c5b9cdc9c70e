import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bodyValue } from './bicep/bodyValue.ts';
import { variableValue } from './bicep/evaluate.ts';
import { readInfra } from './bicep/readBicep.ts';

const main = readInfra('main.bicep');
const app = readInfra('modules/functionApp.bicep');
const network = readInfra('modules/network.bicep');
const shape = z.object({
  properties: z.object({
    subnets: z.array(z.object({ properties: z.record(z.string(), z.unknown()) })),
  }),
});
const endpoints = readInfra('modules/privateEndpoints.bicep');

describe('the network', () => {
  test.each([
    ['is created with private networking', { privateNetworking: true, endpointSubnetId: '' }, true],
    ['is yours if you name a subnet', { privateNetworking: true, endpointSubnetId: '/s/subnets/e' }, false],
    ['is not there without private networking', { privateNetworking: false, endpointSubnetId: '' }, false],
  ])('%s', (_, given, created) => {
    expect(variableValue(main, 'ownNetwork', given)).toBe(created);
  });

  test('has no fixed address space, and rules on both subnets', () => {
    const body = network.resources.get('network')?.body.text ?? '';
    expect(body).not.toMatch(/\d+\.\d+\.\d+\.\d+/);
    expect(body.match(/networkSecurityGroup: \{/g)).toHaveLength(2);
    expect(bodyValue(network, 'endpointRules', { token: 't' })).toMatchObject({
      properties: {
        securityRules: [
          {
            properties: {
              access: 'Allow',
              sourceAddressPrefix: 'VirtualNetwork',
              destinationPortRanges: ['443', '5671'],
            },
          },
          { properties: { access: 'Deny', sourceAddressPrefix: '*', destinationPortRange: '*' } },
        ],
      },
    });
  });

  test('has a way out: a gateway with a fixed address, or the default one', () => {
    const subnets = (natGateway: boolean) => {
      const body = bodyValue(network, 'network', { token: 't', addressSpace: '10.0.0.0/16', natGateway });
      return shape.parse(body).properties.subnets.map(({ properties }) => properties);
    };
    const [withGateway, without] = [subnets(true)[0], subnets(false)[0]];
    expect(withGateway?.natGateway).not.toBeNull();
    expect(withGateway?.defaultOutboundAccess).toBe(false);
    expect(without).toMatchObject({ natGateway: null, defaultOutboundAccess: true });
  });
});

describe('private endpoints', () => {
  test('have zones of the deployment unless the network has its own', () => {
    expect(variableValue(endpoints, 'ownZones', { dnsZones: '' })).toBe(true);
    expect(variableValue(endpoints, 'ownZones', { dnsZones: '/subscriptions/s/resourceGroups/dns' })).toBe(
      false,
    );
    for (const name of ['zones', 'links'])
      expect(endpoints.resources.get(name)?.value?.text).toContain(': if (ownZones) {');
    // A policy makes the groups by itself.
    expect(endpoints.resources.get('zoneGroups')?.value?.text).toContain(": if (dnsZones != 'none') {");
  });

  test('link their zones to the network that has their subnet', () => {
    const subnetId = '/subscriptions/s/virtualNetworks/v/subnets/e';
    expect(variableValue(endpoints, 'networkId', { subnetId })).toBe('/subscriptions/s/virtualNetworks/v');
  });
});

describe('the app', () => {
  const site = (given: Record<string, string | boolean | string[]>) =>
    bodyValue(app, 'app', { publicInbound: true, allowedAddresses: [], ...given });

  test('is reachable from everywhere unless told', () => {
    expect(site({})).toMatchObject({
      properties: {
        publicNetworkAccess: 'Enabled',
        siteConfig: { ipSecurityRestrictionsDefaultAction: 'Allow', ipSecurityRestrictions: [] },
      },
    });
  });

  test('is reachable only from the addresses that are named, and so is the deployment of its code', () => {
    expect(site({ allowedAddresses: ['203.0.113.0/24', '198.51.100.1/32'] })).toMatchObject({
      properties: {
        siteConfig: {
          ipSecurityRestrictionsDefaultAction: 'Deny',
          ipSecurityRestrictions: [
            { action: 'Allow', ipAddress: '203.0.113.0/24', priority: 100 },
            { action: 'Allow', ipAddress: '198.51.100.1/32', priority: 101 },
          ],
          scmIpSecurityRestrictionsUseMain: true,
        },
      },
    });
  });

  test('is closed to the internet with private inbound access, which needs a network', () => {
    expect(site({ publicInbound: false })).toMatchObject({ properties: { publicNetworkAccess: 'Disabled' } });
    expect(main.modules.get('functionApp')?.body.text).toContain(
      'publicInbound: !(privateNetworking && privateInbound)',
    );
    expect(main.root.text).toContain(
      "module inboundEndpoint 'modules/privateEndpoints.bicep' = if (privateNetworking && privateInbound) {",
    );
  });
});
