// The reference store keeps the contract.

import { fakeDeps } from '../support/fakes/ports.ts';
import { memoryStore } from '../support/memory-store/store.ts';
import { storeContract } from './store.suite.ts';

storeContract('memory', async () => memoryStore(fakeDeps()));
storeContract('shared memory', async () => memoryStore({ ...fakeDeps(), isShared: true }), { shared: true });
