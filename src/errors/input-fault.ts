import { GatewayError } from './gateway-error.ts';

/** A fault of a client's input. The path begins with the name of the argument. */
export type InputFault = { path: Path; message: string };

export type Path = PropertyKey[];

/** The faults that one error reports. */
const MAX_FAULTS = 100;

/** Collects the faults of an input, so that one error reports all of them. */
export class InputFaults {
  readonly #faults: InputFault[] = [];
  readonly #toError: (message: string, faults: InputFault[]) => Error;

  constructor(
    toError = (message: string, faults: InputFault[]): Error =>
      new GatewayError('BAD_USER_INPUT', message, { faults }),
  ) {
    this.#toError = toError;
  }

  /** Adds a fault with its message, a sentence. Throws all faults if there are too many for one error. */
  add(path: Path, message: string): void {
    if (this.#faults.length === MAX_FAULTS) throw this.#error(`more than ${MAX_FAULTS}`);
    this.#faults.push({ path, message });
  }

  /** Throws `BAD_USER_INPUT` if there are any faults. */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw this.#error(String(this.#faults.length));
  }

  #error(count: string): Error {
    const first = this.#faults[0]?.message ?? '';
    const message = count === '1' ? first : `The input has ${count} faults. The first: ${first}`;
    return this.#toError(message, this.#faults);
  }
}
