import { createWrite } from '@ledger-gateway/client';
import { restart } from './restart.ts';

/** The write of a button. The app keeps it in this module. */
export const restartWrite = createWrite(restart);
