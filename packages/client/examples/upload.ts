import type { Write } from '@ledger-gateway/client';

type Input = { fileName: string; contentBase64: string };
type CsvWrite = Write<{ __typename: string }, { input: Input }>;

/** Uploads a file. The button is locked from the click on, also while the file is read. `show` shows a text beside the form. */
export function upload(write: CsvWrite, file: File, show: (text: string) => void): void {
  if (file.size > 12_582_912) {
    show('The file has more than 12 MiB.');
    return;
  }
  const input = readInput(file);
  input.catch(() => show('The file cannot be read.'));
  write.submit(input);
}

async function readInput(file: File): Promise<{ input: Input }> {
  return { input: { fileName: file.name, contentBase64: await readBase64(file) } };
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
