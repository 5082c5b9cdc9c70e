#!/bin/bash
# Registers payonce-ops in Entra, with the app roles ops.read and ops.write, and prints its client id.
set -euo pipefail
APP=${1:?expected the name of the function app}
ID=$(az ad app create --display-name payonce-ops --sign-in-audience AzureADMyOrg --query appId -o tsv)
SCOPE=$(uuidgen) READ=$(uuidgen) WRITE=$(uuidgen)
{
az ad app update --id "$ID" --identifier-uris "api://$ID"
az rest --method patch --url "https://graph.microsoft.com/v1.0/applications(appId='$ID')" --body "{
  \"groupMembershipClaims\": \"SecurityGroup\",
  \"appRoles\": [
    {\"id\": \"$READ\", \"value\": \"ops.read\", \"displayName\": \"Read ops\", \"description\": \"See invoices, runs and reports\",
      \"isEnabled\": true, \"allowedMemberTypes\": [\"User\", \"Application\"]},
    {\"id\": \"$WRITE\", \"value\": \"ops.write\", \"displayName\": \"Change ops\", \"description\": \"Import, retry, refund, void, release\",
      \"isEnabled\": true, \"allowedMemberTypes\": [\"User\", \"Application\"]}],
  \"web\": {\"redirectUris\": [\"https://$APP.azurewebsites.net/.auth/login/aad/callback\"],
    \"implicitGrantSettings\": {\"enableIdTokenIssuance\": true}},
  \"api\": {\"requestedAccessTokenVersion\": 2, \"oauth2PermissionScopes\": [{\"id\": \"$SCOPE\", \"value\": \"ops\",
    \"type\": \"User\", \"isEnabled\": true, \"adminConsentDisplayName\": \"Call ops\", \"adminConsentDescription\": \"Call ops\"}]}}"
# The Azure CLI may request tokens without a consent.
az rest --method patch --url "https://graph.microsoft.com/v1.0/applications(appId='$ID')" --body "{
  \"api\": {\"preAuthorizedApplications\": [{\"appId\": \"04b07795-8ddb-461a-bbee-02f9e1bf7b46\",
    \"delegatedPermissionIds\": [\"$SCOPE\"]}]}}"
az ad sp create --id "$ID"
} >/dev/null
echo "$ID"
