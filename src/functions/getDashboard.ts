import { app } from '@azure/functions';
import { serveDashboard } from '../dashboard/serveDashboard.ts';

const serve = serveDashboard();

app.http('getDashboard', {
  route: 'ops/ui/{*path}',
  methods: ['GET'],
  // The page holds no data: it asks for the key.
  authLevel: 'anonymous',
  handler: async (request) => serve(request),
});
