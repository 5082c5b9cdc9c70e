import { z } from 'zod';

/** The place that a deployment goes to, and what it asks for there. */
export interface Target {
  subscription: string;
  environment: string;
  location: string;
  /** The deployment assigns roles itself. */
  roleAssignments: boolean;
  /** The deployment sets locks. */
  resourceLocks: boolean;
  /** Redundancy of the storage account. */
  storageSku: string;
}

export type TargetCheck =
  /** `first`: the environment has no app yet. Its resource group may be there. */
  { kind: 'ready'; first: boolean } | { kind: 'refused'; why: string };

/** Reads from Azure Resource Manager. Undefined: there is no such thing. */
export type Read = (path: string) => Promise<unknown>;

const regions = z.object({ value: z.array(z.object({ name: z.string() })) });
const sites = z.object({ value: z.array(z.unknown()) });
const permissions = z.object({
  value: z.array(z.object({ actions: z.array(z.string()), notActions: z.array(z.string()).default([]) })),
});

/** Regions with the plan and without zone-redundant storage. */
const withoutZones = [
  'westus',
  'northcentralus',
  'westcentralus',
  'ukwest',
  'australiasoutheast',
  'southindia',
];

/** The spelling that names are made from: `West Europe` and `westeurope` are one region (infra/main.bicep). */
export function regionName(text: string): string {
  return text.toLowerCase().replaceAll(' ', '');
}

/** Asks, before anything is created, whether the region has what the template needs and the caller may do what it does. */
export async function checkTarget(target: Target, read: Read): Promise<TargetCheck> {
  const { subscription, environment, location, storageSku } = target;
  const all = regions.parse(
    await read(
      `/subscriptions/${subscription}/providers/Microsoft.Web/geoRegions?sku=FlexConsumption&api-version=2024-11-01`,
    ),
  );
  const names = all.value.map(({ name }) => name);
  const region = regionName(location);
  if (!names.map(regionName).includes(region))
    return {
      kind: 'refused',
      why: `${location} does not offer the Flex Consumption plan. These regions do: ${names.toSorted().join(', ')}`,
    };
  if (withoutZones.includes(region) && storageSku.endsWith('ZRS'))
    return {
      kind: 'refused',
      why: `${location} has no zone-redundant storage: set PAYONCE_STORAGE_SKU to Standard_LRS or Standard_GRS, or choose another region`,
    };
  const scope = `/subscriptions/${subscription}`;
  const group = `${scope}/resourceGroups/rg-payonce-${environment.toLowerCase()}`;
  const apps = await read(`${group}/providers/Microsoft.Web/sites?api-version=2024-11-01`);
  const where = apps === undefined ? scope : group;
  const granted = permissions.parse(
    await read(`${where}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`),
  ).value;
  const lacking = [
    ...(target.roleAssignments && !allows(granted, 'Microsoft.Authorization/roleAssignments/write')
      ? [
          [
            'assign roles: deploy with PAYONCE_ROLE_ASSIGNMENTS=false, and have these assigned by whoever may (docs/deploy.md, "Without the right to assign roles"):',
            ...rolesToAskFor.map((line) => `  ${line}`),
          ].join('\n'),
        ]
      : []),
    ...(target.resourceLocks && !allows(granted, 'Microsoft.Authorization/locks/write')
      ? ['set locks: deploy with PAYONCE_RESOURCE_LOCKS=false']
      : []),
  ];
  return lacking.length === 0
    ? { kind: 'ready', first: apps === undefined || sites.parse(apps).value.length === 0 }
    : { kind: 'refused', why: `you may not ${lacking.join('\nand may not ')}` };
}

/** The assignments that the template makes. A test compares them with it. */
export const rolesToAskFor = [
  'id-payonce-…: Storage Blob Data Owner, Storage Queue Data Contributor, Storage Table Data Contributor on the storage account',
  'id-payonce-package-…: Storage Blob Data Contributor on its container packages',
  'id-payonce-…: Azure Service Bus Data Sender, Azure Service Bus Data Receiver, Azure Service Bus Data Owner on the queue payment-commands',
  'id-payonce-…: Azure Service Bus Data Receiver on the queue locks',
  'id-payonce-…: Key Vault Secrets User on the vault',
  'id-payonce-…: Monitoring Metrics Publisher on Application Insights',
];

/** Each entry is one role: an action that another role grants is granted, whatever this one excludes. */
function allows(roles: z.infer<typeof permissions>['value'], action: string): boolean {
  return roles.some(
    ({ actions, notActions }) =>
      actions.some((pattern) => fits(pattern, action)) &&
      !notActions.some((pattern) => fits(pattern, action)),
  );
}

/** `*` stands for any text. Azure ignores case. */
function fits(pattern: string, action: string): boolean {
  const text = pattern.replaceAll('.', '[.]').replaceAll('*', '.*');
  return new RegExp(`^${text}$`, 'i').test(action);
}
