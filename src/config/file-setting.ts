import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

/** What reading a file results in: its text, or the code of the error, such as ENOENT or EMFILE. */
type Content = { readonly text?: string; readonly code?: string };

/** A setting that is the content of a file. */
export class FileSetting<Value> {
  readonly path: string;
  readonly #type: z.ZodType<Value>;
  /** The content at the last reading. */
  #content: Content;
  #result: z.ZodSafeParseResult<Value>;

  /** Reads the file. The messages of `type` must not quote the content. */
  constructor(path: string, type: z.ZodType<Value>) {
    this.path = path;
    this.#type = type;
    this.#content = readNow(path);
    this.#result = this.#parse();
  }

  /** Parses the content that was read last, without a byte order mark. */
  #parse(): z.ZodSafeParseResult<Value> {
    return this.#type.safeParse(this.#content.text?.replace(/^\ufeff/, ''));
  }

  /** The hash of the content that was read last, in hexadecimal digits, as `sha256sum` prints it for a text in UTF-8. */
  get sha256(): string {
    return hash('sha256', this.#content.text ?? '');
  }

  /** The fault of the content that was read last, with the code if it could not be read. Undefined if it is valid. */
  get fault(): string | undefined {
    const { code } = this.#content;
    const message = this.#result.error?.issues[0]?.message;
    return message && code ? `${message}: ${code}` : message;
  }

  /** The value of the content that was read last. Throws an error that names the file if the content is not valid. */
  get value(): Value {
    if (this.#result.success) return this.#result.data;
    throw new Error(`${this.path} ${this.fault}`);
  }

  /** Reads the file again, and resolves to whether its content has changed, also because a symbolic link leads elsewhere. */
  async readAgain(): Promise<boolean> {
    const content: Content = await readFile(this.path, 'utf8').then((text) => ({ text }), failed);
    const { text, code } = this.#content;
    if (content.text === text && content.code === code) return false;
    this.#content = content;
    this.#result = this.#parse();
    return true;
  }
}

function readNow(path: string): Content {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Content {
  const { code }: { code?: unknown } = Object(error);
  return { code: String(code) };
}
