// Whether the backend answers, and only to those who have its key.
import { broken, DONE, mustBe } from '../client.ts';
import type { RuleGroup } from '../rule.ts';

export const REACH: RuleGroup = {
  id: 'reach',
  title: 'Reachability',
  chapter: 'Sandboxes',
  rules: [
    {
      id: 'reach.health',
      title: 'GET /health responds',
      look: async (client, signal) => {
        mustBe(await client.status({ method: 'GET', path: '/health', signal }), DONE);
        return 'The backend responds.';
      },
    },
    {
      id: 'reach.key',
      title: 'A wrong key returns 401',
      needs: ['reach.health'],
      look: async (client, signal) => {
        if (client.config.api_key === undefined)
          throw broken('No key is configured, so everyone has access.');
        const reply = await client.askAsStranger({ method: 'GET', path: '/status/none', signal });
        await reply.discard();
        mustBe(reply.status, [401]);
        return 'Status 401.';
      },
    },
  ],
};
