#!/bin/bash
# Creates the read-only identity with which pull requests run what-if.
set -euo pipefail
USAGE='expected SUBSCRIPTION OWNER/REPOSITORY'
SUBSCRIPTION=${1:?$USAGE} REPOSITORY=${2:?$USAGE}
az role definition create --role-definition "$(sed "s/SUBSCRIPTION/$SUBSCRIPTION/" "$(dirname "$0")/role-what-if.json")"
ID=$(az ad app create --display-name payonce-what-if --query appId -o tsv)
az ad sp create --id "$ID"
az ad app federated-credential create --id "$ID" --parameters "{
  \"name\": \"pull-request\", \"issuer\": \"https://token.actions.githubusercontent.com\",
  \"subject\": \"repo:$REPOSITORY:pull_request\", \"audiences\": [\"api://AzureADTokenExchange\"]}"
az role assignment create --assignee "$ID" --role "payonce what-if" --scope "/subscriptions/$SUBSCRIPTION"
echo "AZURE_WHAT_IF_CLIENT_ID=$ID"
