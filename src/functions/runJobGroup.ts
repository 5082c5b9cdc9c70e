import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';
import { runGroupActivity } from '../runs/orchestrateRun.ts';

df.app.activity(runGroupActivity, { handler: (task: unknown) => payonce.runJobGroup(task) });
