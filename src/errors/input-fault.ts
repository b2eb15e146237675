import { GatewayError } from './gateway-error.ts';

/** A fault of a client's input. The path begins with the name of the argument. */
export type InputFault = { path: Path; message: string };

export type Path = PropertyKey[];

/** The faults that one error reports. */
const MAX_FAULTS = 100;

/** Adds a fault, whose message is a sentence. Throws the error of all faults if there are too many for one error. */
export function addFault(faults: InputFault[], fault: InputFault, status?: 400): void {
  if (faults.length === MAX_FAULTS) throw faultsError(faults, status, `more than ${MAX_FAULTS}`);
  faults.push(fault);
}

/** The error that reports these faults: with status 400 that of the whole request. */
export function faultsError(
  faults: InputFault[],
  status?: 400,
  count = String(faults.length),
): GatewayError {
  const first = faults[0]?.message ?? '';
  const message = count === '1' ? first : `The input has ${count} faults. The first: ${first}`;
  return new GatewayError('BAD_USER_INPUT', message, { faults, status });
}
