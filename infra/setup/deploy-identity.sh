#!/bin/bash
# Creates the identity of the Deploy workflow for one environment of the repository, with its rights, reviewers and variables.
set -euo pipefail
USAGE='expected ENVIRONMENT LOCATION SUBSCRIPTION OWNER/REPOSITORY REVIEWERS (a team)'
ENVIRONMENT=${1:?$USAGE} LOCATION=${2:?$USAGE} SUBSCRIPTION=${3:?$USAGE} REPOSITORY=${4:?$USAGE} REVIEWERS=${5:?$USAGE}
ID=$(az ad app create --display-name "payonce-deploy-$ENVIRONMENT" --query appId -o tsv)
az ad sp create --id "$ID"
SP=$(az ad sp show --id "$ID" --query id -o tsv)
az ad app federated-credential create --id "$ID" --parameters "{
  \"name\": \"$ENVIRONMENT\", \"issuer\": \"https://token.actions.githubusercontent.com\",
  \"subject\": \"repo:$REPOSITORY:environment:$ENVIRONMENT\", \"audiences\": [\"api://AzureADTokenExchange\"]}"
az group create -n "rg-payonce-$ENVIRONMENT" -l "$LOCATION"
GROUP=$(az group show -n "rg-payonce-$ENVIRONMENT" --query id -o tsv)
assign() { az role assignment create --assignee-object-id "$SP" --assignee-principal-type ServicePrincipal "$@"; }
assign --role "payonce deployments" --scope "/subscriptions/$SUBSCRIPTION"
assign --role Contributor --scope "$GROUP"
assign --role "payonce locks" --scope "$GROUP"
ROLES="b7e6dc6d-f1e8-4753-8033-0f276bb0955b, ba92f5b4-2d11-453d-a403-e96b0029c9fe, 974c5e8b-45b9-4653-ba55-5f855dd0fb88, 0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3, 69a216fc-b8fb-44d8-bc22-1f3c2cd27a39, 4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0, 090c5cfd-751d-490a-894a-3ce6f1109419, 4633458b-17de-408a-b874-0445c86b69e6, 3913510d-42f4-4e42-8a64-420c390055eb"
assign --role "Role Based Access Control Administrator" --scope "$GROUP" --condition-version 2.0 \
  --condition "((!(ActionMatches{'Microsoft.Authorization/roleAssignments/write'})) OR (@Request[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {$ROLES})) AND ((!(ActionMatches{'Microsoft.Authorization/roleAssignments/delete'})) OR (@Resource[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {$ROLES}))"
TEAM=$(gh api "orgs/${REPOSITORY%%/*}/teams/$REVIEWERS" --jq .id)
gh api --method PUT "repos/$REPOSITORY/environments/$ENVIRONMENT" --input - <<JSON
{"reviewers": [{"type": "Team", "id": $TEAM}],
 "deployment_branch_policy": {"protected_branches": false, "custom_branch_policies": true}}
JSON
gh api --method POST "repos/$REPOSITORY/environments/$ENVIRONMENT/deployment-branch-policies" -f name=main
TENANT=$(az account show --query tenantId -o tsv)
variable() { gh variable set "$1" --repo "$REPOSITORY" --env "$ENVIRONMENT" --body "$2"; }
variable AZURE_CLIENT_ID "$ID"
variable AZURE_TENANT_ID "$TENANT"
variable AZURE_SUBSCRIPTION_ID "$SUBSCRIPTION"
variable AZURE_ENV_NAME "$ENVIRONMENT"
variable AZURE_LOCATION "$LOCATION"
