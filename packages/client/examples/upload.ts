import type { Write } from '@ledger-gateway/client';

type Input = { fileName: string; contentBase64: string };

/** Uploads a file. The button is locked from the click on, also while the file is read. */
export function upload(write: Write<{ __typename: string }, { input: Input }>, file: File): void {
  write.submit(readInput(file).then((input) => ({ input })));
}

async function readInput(file: File): Promise<Input> {
  if (file.size > 12_582_912) throw new Error('The file has more than 12 MiB.');
  return { fileName: file.name, contentBase64: await readBase64(file) };
}

/** Reads a file byte by byte, so that text in any encoding arrives unchanged. */
function readBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
