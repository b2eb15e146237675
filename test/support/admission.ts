import { Gate } from '../../src/admission/gate.ts';
import { Lane } from '../../src/admission/lane.ts';
import { Memory, Reservation } from '../../src/admission/memory.ts';

/*
 * Admission for the tests of other parts. Only this file and the tests of `src/admission` know its classes.
 */

export type { Lane, Memory };

export const createMemory = (bytes = Infinity) => new Memory(bytes);
/** The reservation of a call. */
export const createReservation = (memory = createMemory(), caller = 'ada') =>
  new Reservation(memory, caller);
export const createGate = (options: ConstructorParameters<typeof Gate>[0]) => new Gate(options);
export const createLane = () => new Lane();
