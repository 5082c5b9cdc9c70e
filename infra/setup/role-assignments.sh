#!/bin/bash
# Prints the commands that assign the app's roles, from the outputs of a deployment with PAYONCE_ROLE_ASSIGNMENTS=false.
set -euo pipefail
NAME=${1:?expected the name of the deployment}
ASSIGN='.[] | "az role assignment create --assignee-object-id \(.principalId) --assignee-principal-type ServicePrincipal --role \(.role | @sh) --scope \(.scope)" + if .condition == "" then "" else " --condition-version 2.0 --condition \(.condition | gsub("\n"; " ") | @sh)" end'
az deployment sub show -n "$NAME" --query properties.outputs.ROLE_ASSIGNMENTS.value -o json | jq -r "$ASSIGN"
