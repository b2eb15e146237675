import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** A setting that is the content of a file. */
export type FileSetting<Value> = {
  readonly path: string;
  readonly text: string;
  readonly value: Value;
  /** Throws an error that says what is wrong, and quotes nothing of the text. */
  parse(text: string): Value;
};

/** Settings that are applied together, as far as they are configured. */
export type FileSettings<Values extends object> = {
  [Name in keyof Values]: FileSetting<Values[Name]> | undefined;
};

/** Reads a setting. Throws an error of the file system, or of `parse`. */
export function readFileSetting<Value>(
  path: string,
  parse: (text: string) => Value,
): FileSetting<Value> {
  const text = readFileSync(path, 'utf8');
  return { path, text, parse, value: parse(text) };
}

/**
 * Reads settings again every ten seconds. When the content of a file has changed, `apply` gets the values of all. If a
 * file cannot be read or parsed, or `apply` throws, the fault is logged once and the last values remain in use. The
 * content is compared, because orchestrators replace files by changing a symbolic link. `note` gets whether the content
 * of all files is in use, at the start and whenever they were read again with another result. Returns a function that
 * ends it.
 */
export function watchFiles<Values extends object>(
  settings: FileSettings<Values>,
  apply: (values: Values) => void | Promise<void>,
  log: Logger,
  note: (isApplied: boolean) => void,
): () => void {
  const given = Object.entries<FileSetting<unknown> | undefined>(settings);
  const files = given.flatMap(([name, file]) => (file ? [{ name, ...file }] : []));
  if (files.length === 0) return () => {};
  note(true);
  const paths = files.map(({ path }) => path);
  let seen = files.map(({ text }) => text);
  let lastFault: string | undefined;
  let isReading = false;

  async function readAgain(): Promise<void> {
    const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8'))).catch((error) => {
      seen = []; // The same content is applied again when it is back.
      throw error;
    });
    if (texts.every((text, index) => text === seen[index])) return;
    seen = texts;
    const values = files.map(({ name, parse }, index) => [name, parse(texts[index] ?? '')]);
    await apply(Object.fromEntries(values));
    lastFault = undefined;
    note(true);
    log.info({ files: paths }, 'changed files applied');
  }

  const timer = setInterval(async () => {
    if (isReading) return;
    isReading = true;
    try {
      await readAgain();
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'unknown';
      if (fault !== lastFault) log.warn({ files: paths, fault }, 'cannot apply changed files');
      lastFault = fault;
      note(false);
    }
    isReading = false;
  }, 10_000).unref();
  return () => clearInterval(timer);
}
