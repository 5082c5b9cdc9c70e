/** Runs the benchmark that the options name; throughput if they name none. */
if (process.argv.includes('--pace')) await import('./pace/main.ts');
else if (process.argv.includes('--due-at-once')) await import('./pace/dueAtOnce.ts');
else await import('./throughput.ts');
