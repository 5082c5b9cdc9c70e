/** Runs that a person starts, as orchestrations of Durable Functions. */
export {
  answerUnlessStopping,
  endManualRun,
  type Orchestrations,
  runManualGroup,
  type StartedRun,
  startRun,
} from './manualRun.ts';
export { endRunActivity, orchestrateRun, runGroupActivity, runJobOrchestrator } from './orchestrateRun.ts';
