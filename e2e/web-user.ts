import { eventually } from '../testkit/eventually.ts';
import { outcomeOf, type Practice, type WebStack } from './web-stack.ts';

export type Operation = 'GL codes' | 'Approvers' | 'CSV upload' | 'Workflow actions';

/** The operations, named as their pages. */
export const operations: readonly Operation[] = [
  'GL codes',
  'Approvers',
  'CSV upload',
  'Workflow actions',
];

const buttons: Record<Operation, string> = {
  'GL codes': 'Show codes',
  Approvers: 'Save approvers',
  'CSV upload': 'Upload the file',
  'Workflow actions': 'Yes, ',
};

/** What a user of the example web app does. */
export function createUser({ page, practise, visit }: WebStack) {
  /** Fills in the page of an operation, up to the click that sends it. */
  const prepare: Record<Operation, () => Promise<void>> = {
    'GL codes': () => page.getByLabel('Project').fill('north-plant'),
    Approvers: () => page.getByLabel('Name', { exact: true }).fill('Ada Example'),
    'CSV upload': () => chooseFile('name,email\nAda Example,ada@example.com\n'),
    async 'Workflow actions'() {
      await page.getByLabel('Restart the workflow', { exact: true }).check();
      await page.getByRole('button', { name: 'Run…' }).click();
    },
  };

  function chooseFile(csv: string): Promise<void> {
    const file = { name: 'approvers.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
    return page.getByLabel('CSV file').setInputFiles(file);
  }

  return {
    prepare,
    chooseFile,
    send: (operation: Operation) => page.getByRole('button', { name: buttons[operation] }).click(),

    /** Runs an operation in a scenario, and returns what the page tells. */
    async run(operation: Operation, scenario: Practice): Promise<string> {
      await visit(operation);
      const close = outcomeOf(page).getByRole('button', { name: /Close|I have checked/ });
      if (await close.isVisible()) await close.click();
      await practise(scenario);
      await prepare[operation]();
      // The same write sooner after the last one would be a double click.
      await page.clock.fastForward(600);
      const notice = outcomeOf(page);
      const before = (await notice.isVisible()) ? await notice.textContent() : null;
      await this.send(operation);
      // A notice that cannot be closed stays until the next outcome.
      return eventually(async () => {
        const told = await notice.textContent();
        if (told === null || told === before) throw new Error('No new outcome.');
        return told;
      });
    },
  };
}
