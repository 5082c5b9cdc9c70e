/**
 * Put before a worker with `--import`, this puts the fault that the worker's first argument names into the app, as its files
 * are loaded.
 */
import { applySabotage } from './applySabotage.ts';
import { sabotageNamed } from './catalogue.ts';

applySabotage(sabotageNamed(process.argv[2] ?? ''));
