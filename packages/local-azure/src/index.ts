/**
 * The services that tests start in their own process, each with its clock and its data. Azurite is a child
 * process.
 */
export { type Azurite, type AzuriteOptions, startAzurite } from './azurite.ts';
export { type Certificate, certificateIn } from './certificate.ts';
export { type Cosmos, type CosmosOptions, startCosmos } from './cosmos/index.ts';
export type { BrokerClock } from './serviceBus/clock.ts';
export { ConfigError } from './serviceBus/config.ts';
export { type ServiceBus, type ServiceBusOptions, startServiceBus } from './serviceBus/index.ts';
