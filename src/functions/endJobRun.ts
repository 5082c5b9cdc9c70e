import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';
import { endRunActivity } from '../runs/orchestrateRun.ts';

df.app.activity(endRunActivity, { handler: (end: unknown) => payonce.endJobRun(end) });
