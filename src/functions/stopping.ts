import { app } from '@azure/functions';
import { stopPayonce } from '../payonce.ts';

app.hook.appTerminate(stopPayonce);
