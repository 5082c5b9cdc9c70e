import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';
import {
  endRunActivity,
  orchestrateRun,
  runGroupActivity,
  runJobOrchestrator,
} from '../runs/orchestrateRun.ts';

df.app.orchestration(runJobOrchestrator, orchestrateRun);
df.app.activity(runGroupActivity, { handler: (task: unknown) => payonce.runJobGroup(task) });
df.app.activity(endRunActivity, { handler: (end: unknown) => payonce.endJobRun(end) });
