/** What tests import: the services, in their own process, each with its clock and its data. */
export { type Azurite, type AzuriteOptions, startAzurite } from './azurite.ts';
export { type Cosmos, type CosmosOptions, startCosmos } from './cosmos/index.ts';
export type { BrokerClock } from './serviceBus/clock.ts';
export { ConfigError } from './serviceBus/config.ts';
export { type ServiceBus, type ServiceBusOptions, startServiceBus } from './serviceBus/index.ts';
