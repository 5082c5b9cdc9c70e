#!/bin/bash
# Registers the providers and creates the two roles of the deployments. Once for each subscription, by an Owner.
set -euo pipefail
: "${1:?expected the subscription id}"
for NAMESPACE in App Consumption DocumentDB Insights KeyVault ManagedIdentity Network OperationalInsights ServiceBus Storage Web; do
  az provider register --namespace Microsoft.$NAMESPACE
done
for ROLE in deployments locks; do
  az role definition create --role-definition "$(sed "s/SUBSCRIPTION/$1/" "$(dirname "$0")/role-$ROLE.json")"
done
