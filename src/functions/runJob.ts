import * as df from 'durable-functions';
import { orchestrateRun, runJobOrchestrator } from '../runs/orchestrateRun.ts';

df.app.orchestration(runJobOrchestrator, orchestrateRun);
