// The reference store keeps the contract.
import { memoryStore } from '../../src/store/memory.ts';
import { fakeDeps } from '../support/fakes.ts';
import { storeContract } from './store.suite.ts';

storeContract('memory', async () => memoryStore(fakeDeps()));
