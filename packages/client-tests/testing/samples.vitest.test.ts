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

test('a file is uploaded byte by byte, and one that is too large is not sent', async () => {
  createTestGateway({ done: {} });
  const sent: string[] = [];
  const write = createWrite({
    ...ledger,
    field: 'uploadWorkflowCsv',
    async send(_, { input }: { input: { fileName: string; contentBase64: string } }) {
      sent.push(`${input.fileName} ${input.contentBase64}`);
      return { data: { uploadWorkflowCsv: { __typename: 'WorkflowCsvUploaded' } } };
    },
  });
  upload(write, new File([new Uint8Array(12_582_913)], 'large.csv'));
  expect(write.getState().phase).toBe('sending');
  await vi.waitFor(() => expect(write.getState().phase).toBe('idle'), patient);
  upload(write, new File([new Uint8Array([0xff, 0x41])], 'small.csv'));
  await vi.waitFor(() => expect(write.getState().phase).toBe('done'), patient);
  expect(sent).toEqual(['small.csv /0E=']);
});
