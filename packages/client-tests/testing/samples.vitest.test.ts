import { createLedgerFetch, createWrite } from '@ledger-gateway/client';
import { createTestGateway } from '@ledger-gateway/client/testing';
import { expect, test, vi } from 'vitest';
import { createRow } from '../../client/examples/table-row.ts';
import { upload } from '../../client/examples/upload.ts';
import { ledger } from './ledger.ts';

/** Only so that a busy machine fails no test. */
const patient = { timeout: 20_000 };

test('the same click on two rows is two writes', async () => {
  const gateway = createTestGateway({
    done: { saveApprovers: { __typename: 'ApproversSaved' } },
    times: { doubleClickMs: 500 },
  });
  const ledgerFetch = createLedgerFetch({ ...ledger, fetch: gateway.fetch });
  const rows = ['1', '2'].map((id) => createRow(ledger, ledgerFetch, id));
  for (const row of rows) row.submit([{ name: 'Ada' }]);
  const phases = () => rows.map((row) => row.getState().phase);
  await vi.waitFor(() => expect(phases()).toEqual(['done', 'done']), patient);
  expect(gateway.arrivals).toHaveLength(2);
});

test('a file is uploaded byte by byte, and the page says why another one is not sent', async () => {
  createTestGateway({ done: {} });
  const sent: string[] = [];
  const shown: string[] = [];
  const write = createWrite({
    ...ledger,
    field: 'uploadWorkflowCsv',
    async send(_, { input }: { input: { fileName: string; contentBase64: string } }) {
      sent.push(`${input.fileName} ${input.contentBase64}`);
      return { data: { uploadWorkflowCsv: { __typename: 'WorkflowCsvUploaded' } } };
    },
  });
  const uploadFile = (file: File) => upload(write, file, (text) => shown.push(text));
  uploadFile(new File([new Uint8Array(12_582_913)], 'large.csv'));
  expect(write.getState().phase).toBe('idle');
  const reading = vi.spyOn(FileReader.prototype, 'readAsDataURL').mockImplementation(() => {
    throw new Error('The file is gone.');
  });
  uploadFile(new File(['Ada'], 'removed.csv'));
  expect(write.getState().phase).toBe('sending');
  await vi.waitFor(() => expect(write.getState().phase).toBe('idle'), patient);
  reading.mockRestore();
  expect(shown).toEqual(['The file has more than 12 MiB.', 'The file cannot be read.']);
  uploadFile(new File([new Uint8Array([0xff, 0x41])], 'small.csv'));
  await vi.waitFor(() => expect(write.getState().phase).toBe('done'), patient);
  expect(sent).toEqual(['small.csv /0E=']);
});
