import { JsonTextCutter } from '../../lib/json-text-cutter.ts';
import { PART_BYTES, TinyParts } from '../../lib/tiny-parts.ts';
import { invalidResponse, noRoom, tooLong } from '../upstream-error.ts';

/** Limits of the body of a response, while it arrives and while it is decompressed. */
export type BodyLimits = {
  /** The most bytes that are kept. */
  maxBytes: number;
  /** Whether the texts of a long body are cut, so that it may be longer. */
  cutsTexts?: boolean;
  /** Reserves memory for more bytes of the response. Returns false if there is none. */
  tryReserve(bytes: number): boolean;
};

/** From this length on, texts are cut. */
const LONG_BODY = 1_048_576;
/** How many times as long a body whose texts are cut may be. A longer one would take too much time. */
const CUT_FACTOR = 8;

/** The parts of a body. */
export class BodyParts {
  readonly #limits: BodyLimits;
  /** The longest body. */
  readonly maxBytes: number;
  /** How many bytes have been added. */
  received = 0;
  #kept = 0;
  #parts: Uint8Array[] = [];
  #cutter: JsonTextCutter | undefined;
  #tiny: TinyParts | undefined;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.maxBytes = limits.maxBytes * (limits.cutsTexts ? CUT_FACTOR : 1);
  }

  /** Adds the next part. Throws an UpstreamError if the body is too long, has too many tiny parts, or if there is no memory. */
  add(part: Uint8Array): void {
    if (this.received > 0) this.#tiny ??= new TinyParts();
    if (this.#tiny?.isTooMany(part.length)) throw invalidResponse('in tiny parts');
    this.received += part.length;
    if (this.#limits.cutsTexts && this.received > LONG_BODY) this.#cutter ??= this.#cutAll();
    const kept = this.#cutter?.cut(part) ?? part;
    this.#kept += kept.length;
    if (this.received > this.maxBytes) throw tooLong(this.maxBytes);
    if (this.#kept > this.#limits.maxBytes) throw tooLong(this.#limits.maxBytes);
    if (!this.#limits.tryReserve(kept.length + PART_BYTES)) throw noRoom();
    this.#parts.push(kept);
  }

  /** The body. */
  join(): Buffer {
    return Buffer.concat(this.#parts, this.#kept);
  }

  /** Cuts the texts of the parts so far. */
  #cutAll(): JsonTextCutter {
    const cutter = new JsonTextCutter();
    this.#parts = this.#parts.map((part) => cutter.cut(part));
    this.#kept = this.#parts.reduce((sum, { length }) => sum + length, 0);
    return cutter;
  }
}
