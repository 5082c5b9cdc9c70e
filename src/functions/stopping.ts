import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.hook.appTerminate(() => payonce.stop());
