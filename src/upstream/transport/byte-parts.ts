/** Parts that are joined to one. Each part takes 200 bytes besides its data, even if it is a single byte. */
const GROUP = 1024;

/** Collects bytes that arrive in parts of any size. */
export class ByteParts {
  readonly #groups: Uint8Array[] = [];
  #latest: Uint8Array[] = [];

  add(part: Uint8Array): void {
    this.#latest.push(part);
    if (this.#latest.length < GROUP) return;
    this.#groups.push(Buffer.concat(this.#latest));
    this.#latest = [];
  }

  /** All bytes. They are not copied if they are a single part. */
  join(): Uint8Array {
    const parts = [...this.#groups, ...this.#latest];
    const [first] = parts;
    return first && parts.length === 1 ? first : Buffer.concat(parts);
  }
}
