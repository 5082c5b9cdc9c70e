import {
  endRunActivity,
  orchestrateRun,
  runGroupActivity,
  runJobOrchestrator,
} from '@payonce/jobs/runs/durable';
import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';

df.app.orchestration(runJobOrchestrator, orchestrateRun);
df.app.activity(runGroupActivity, { handler: (task: unknown) => payonce.runJobGroup(task) });
df.app.activity(endRunActivity, { handler: (end: unknown) => payonce.endJobRun(end) });
