import { type Fault, isLocked, type Outcome, type WriteState } from '@ledger-gateway/client';
import { type FormEvent, useState } from 'react';
import {
  UploadWorkflowCsvDocument,
  type UploadWorkflowCsvMutation,
  type WorkflowCsvInput,
} from '../gql/graphql.ts';
import { describeProblem, faultOf, type Notice, quote, type Words } from '../notice.ts';
import { Field } from '../parts/field.tsx';
import { Steps } from '../parts/steps.tsx';
import { useFaultFocus } from '../parts/use-fault-focus.ts';
import { WriteOutcome } from '../parts/write-outcome.tsx';
import { useMutation } from '../use-mutation.ts';
import { CsvPreview } from './csv-preview.tsx';
import { readBase64 } from './read-base64.ts';
import { type CsvReading, readCsv } from './read-csv.ts';
import sampleUrl from './sample.csv?url&no-inline';

const words: Words = {
  nothingDone: 'The file was not processed.',
  toDo: 'process the file',
  done: 'the file was processed',
};

/** The largest file in bytes: 12 MiB. As base64 it fits into the gateway's limit of 17 MiB for a request. */
const LARGEST_FILE = 12_582_912;

const steps = ['Choose', 'Check', 'Send', 'Outcome'];

/** Uploads a CSV file for a workflow. */
export function CsvPage() {
  const [file, setFile] = useState<File>();
  const [reading, setReading] = useState<CsvReading>();
  const [invoiceId, setInvoiceId] = useState('');
  const [message, setMessage] = useState('');
  const [fileFault, setFileFault] = useState<string>();
  /** The part of the request that was sent, from 0 to 1. */
  const [share, setShare] = useState(0);
  const write = useMutation(UploadWorkflowCsvDocument, 'uploadWorkflowCsv', setShare);
  const { state, submit, dismiss } = write;
  const [idFault, setIdFault] = useState<string>();
  /** What was sent last. A reload forgets it. */
  const [sent, setSent] = useState<string[]>([]);
  const form = useFaultFocus(fileFault ?? idFault);
  const faults: readonly Fault[] = state.phase === 'failed' ? state.error.faults : [];

  /** Shows what is in a file, unless the user has chosen another one meanwhile. */
  function choose(input: HTMLInputElement): void {
    const chosen = input.files?.[0];
    dismiss();
    setFile(chosen);
    setReading(undefined);
    setFileFault(chosen && faultOfFile(chosen));
    if (!chosen || chosen.size > LARGEST_FILE) return;
    chosen.arrayBuffer().then(
      (content) => {
        if (input.files?.[0] !== chosen) return;
        const read = readCsv(new Uint8Array(content));
        setReading(read);
        if (read.kind === 'none') setFileFault(read.fault);
      },
      () => setFileFault('The file cannot be read. Choose it again.'),
    );
  }

  function upload(event: FormEvent): void {
    event.preventDefault();
    dismiss();
    setShare(0);
    const fault = reading?.kind === 'none' ? reading.fault : faultOfFile(file);
    const faultOfId = /^(-?\d+)?$/.test(invoiceId.trim()) ? undefined : 'Enter digits only.';
    setFileFault(fault);
    setIdFault(faultOfId);
    if (!file || fault || faultOfId) return;
    setSent([summaryOf(file, invoiceId.trim())]);
    submit(readInput(file).then((input) => ({ input })));
  }

  async function readInput(from: File): Promise<WorkflowCsvInput> {
    const contentBase64 = await readBase64(from).catch((error: unknown) => {
      setFileFault('The file cannot be read. Choose it again.');
      throw error;
    });
    return {
      fileName: from.name,
      contentBase64,
      ...(invoiceId.trim() && { invoiceId: invoiceId.trim() }),
      ...(message && { message }),
    };
  }

  return (
    <form ref={form} onSubmit={upload} noValidate>
      <Steps label="Steps of an upload" names={steps} current={stepOf(state, reading)} />
      <fieldset className="plain" disabled={isLocked(state)}>
        <Field
          label="CSV file"
          hint="Up to 12 MiB"
          fault={fileFault ?? faultOf(faults, ['input', 'fileName'])}
        >
          {(attributes) => (
            <input
              {...attributes}
              type="file"
              accept=".csv,text/csv"
              onChange={(event) => choose(event.target)}
            />
          )}
        </Field>
        {reading?.kind === 'table' ? (
          <CsvPreview reading={reading} />
        ) : (
          <p className="hint sample">
            <a href={sampleUrl} download="sample.csv">
              Download a sample file
            </a>{' '}
            to see the form of a CSV file. Your ledger decides which columns it reads.
          </p>
        )}
        <div className="columns">
          <Field
            label="Invoice number (optional)"
            hint="Digits only"
            fault={idFault ?? faultOf(faults, ['input', 'invoiceId'])}
          >
            {(attributes) => (
              <input
                {...attributes}
                value={invoiceId}
                onChange={(event) => setInvoiceId(event.target.value)}
              />
            )}
          </Field>
          <Field label="Message (optional)" fault={faultOf(faults, ['input', 'message'])}>
            {(attributes) => (
              <input
                {...attributes}
                value={message}
                onChange={(event) => setMessage(event.target.value)}
              />
            )}
          </Field>
        </div>
        <div className="actions">
          <button type="submit" className="primary">
            Upload the file
          </button>
        </div>
      </fieldset>
      <WriteOutcome
        write={write}
        words={words}
        describe={(member) => describe(member, sent)}
        sending={<Progress share={share} />}
      />
    </form>
  );
}

/** The index of the step that the user is in. */
function stepOf({ phase }: WriteState<Outcome>, reading: CsvReading | undefined): number {
  if (phase === 'sending') return 2;
  if (phase !== 'idle') return 3;
  return reading?.kind === 'table' ? 1 : 0;
}

/** Such as `approvers.csv, 1.2 kB, invoice 48213`. */
function summaryOf({ name, size }: File, invoiceId: string): string {
  const length = size < 1000 ? `${size} bytes` : `${(size / 1000).toFixed(1)} kB`;
  const parts = [name, length];
  return [...parts, ...(invoiceId === '' ? [] : [`invoice ${invoiceId}`])].join(', ');
}

function faultOfFile(file: File | undefined): string | undefined {
  if (file === undefined) return 'Choose a file.';
  return file.size > LARGEST_FILE ? 'The file is larger than 12 MiB.' : undefined;
}

function Progress({ share }: { readonly share: number }) {
  const percent = Math.round(share * 100);
  return (
    <label>
      {percent < 100
        ? `Sending the file: ${percent} %`
        : 'The file was sent. Waiting for the answer…'}
      <progress max={100} value={percent} />
    </label>
  );
}

function describe(
  member: NonNullable<UploadWorkflowCsvMutation['uploadWorkflowCsv']>,
  sent: readonly string[],
): Notice {
  switch (member.__typename) {
    case 'WorkflowCsvUploaded':
      return member.unresolved
        ? {
            tone: 'warning',
            title: 'The file was processed, except for these rows:',
            details: [member.unresolved, ...quote(member.message)],
          }
        : {
            tone: 'success',
            title: 'The file was processed.',
            details: [...sent, ...quote(member.message)],
          };
    case 'LedgerFailed':
    case 'LedgerNotPermitted':
    case 'LedgerNoMoreInvoices':
    case 'LedgerUnrecognizedStatus':
    case 'LedgerOutcomeUnknown':
      return describeProblem(member, words);
    default:
      return describeProblem(member satisfies never, words);
  }
}
