#!/bin/bash
# Gives a person, group or service principal an app role of payonce-ops.
set -euo pipefail
USAGE='expected CLIENT_ID OBJECT_ID ROLE (ops.read or ops.write)'
ID=${1:?$USAGE} PRINCIPAL=${2:?$USAGE} NAME=${3:?$USAGE}
OPS=$(az ad sp show --id "$ID" --query id -o tsv)
ROLE=$(az ad sp show --id "$ID" --query "appRoles[?value=='$NAME'].id" -o tsv)
az rest --method post --url "https://graph.microsoft.com/v1.0/servicePrincipals/$OPS/appRoleAssignedTo" \
  --body "{\"principalId\": \"$PRINCIPAL\", \"resourceId\": \"$OPS\", \"appRoleId\": \"${ROLE:?$NAME is no app role of $ID}\"}"
