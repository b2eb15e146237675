import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

/** A setting that is the content of a file. */
export class FileSetting<Value> {
  readonly path: string;
  readonly #type: z.ZodType<Value>;
  /** The content at the last reading. Undefined if the file could not be read. */
  #text: string | undefined;
  #result: z.ZodSafeParseResult<Value>;

  /** Reads the file. Throws an error of the file system. The messages of `type` must not quote the content. */
  constructor(path: string, type: z.ZodType<Value>) {
    this.path = path;
    this.#type = type;
    this.#text = readFileSync(path, 'utf8');
    this.#result = type.safeParse(this.#text);
  }

  /** The fault of the content that was read last. Undefined if it is valid. */
  get fault(): string | undefined {
    return this.#result.error?.issues[0]?.message;
  }

  /** The value of the content that was read last. Throws an error that names the file if the content is not valid. */
  get value(): Value {
    if (this.#result.success) return this.#result.data;
    throw new Error(`${this.path} ${this.fault}`);
  }

  /**
   * Reads the file again, and resolves to whether its content has changed. The content is compared, because orchestrators
   * replace files by changing a symbolic link.
   */
  async readAgain(): Promise<boolean> {
    const text = await readFile(this.path, 'utf8').catch(() => undefined);
    if (text === this.#text) return false;
    this.#text = text;
    this.#result = this.#type.safeParse(text);
    return true;
  }
}
