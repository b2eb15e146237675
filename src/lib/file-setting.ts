import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** A setting that is the content of a file. */
export class FileSetting<Value> {
  readonly path: string;
  readonly #parse: (text: string) => Value;
  /** The content that was read last. Undefined if the file could not be read. */
  #text: string | undefined;
  #value: Value;
  #fault: Error | undefined;

  /** Throws an error of the file system, or of `parse`, which says what is wrong, and quotes nothing of the text. */
  constructor(path: string, parse: (text: string) => Value) {
    this.path = path;
    this.#parse = parse;
    this.#text = readFileSync(path, 'utf8');
    this.#value = parse(this.#text);
  }

  /** The value of the content that was read last. Throws an error that names the file if it was not valid. */
  get value(): Value {
    if (this.#fault) throw this.#fault;
    return this.#value;
  }

  /**
   * Reads the file again, and resolves to whether its content has changed. The content is compared, because orchestrators
   * replace files by changing a symbolic link.
   */
  async readAgain(): Promise<boolean> {
    const text = await readFile(this.path, 'utf8').catch(() => undefined);
    if (text === this.#text) return false;
    this.#text = text;
    this.#fault = undefined;
    try {
      if (text === undefined) throw new Error('cannot be read');
      this.#value = this.#parse(text);
    } catch (error) {
      this.#fault = new Error(`${this.path} ${error instanceof Error ? error.message : ''}`);
    }
    return true;
  }
}
