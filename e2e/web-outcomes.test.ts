import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { ScenarioName } from '../dev/service.ts';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';
import { createUser, type Operation, operations } from './web-user.ts';

let stack: WebStack;
let user: ReturnType<typeof createUser>;

beforeAll(async () => {
  stack = await startWebStack({ UPSTREAM_TIMEOUT_MS: '2000' });
  user = createUser(stack);
});

beforeEach(() => stack.restart());

const ledgerSays = {
  failed: 'The operation could not be completed.',
  'not-permitted': 'You may not do this.',
};

/** What the page tells in each scenario, for an operation that is described with these words. */
function outcomes(toDo: string, done: string, nothingDone: string) {
  return {
    failed: [`The ledger could not ${toDo}.`, ledgerSays.failed],
    'not-permitted': [`You are not permitted to ${toDo}.`, ledgerSays['not-permitted']],
    'no-more-invoices': ['There are no more invoices.'],
    unrecognized: [`It is not clear whether ${done}.`],
    'http-400': ['The ledger did not accept the request.', nothingDone],
    'http-401': ['Your sign-in is not accepted.', nothingDone],
    'http-403': [`You are not permitted to ${toDo}.`, nothingDone],
  } satisfies Partial<Record<ScenarioName, string[]>>;
}

/** What the page tells when a write is sent and its outcome is not known. */
function unknown(done: string) {
  const title = `We could not learn whether ${done}.`;
  const again = ['Please check in the ledger'];
  return {
    'http-500': [title, 'a fault of its own', ...again],
    slow: [title, 'did not answer in time', ...again],
    reset: [title, 'The connection to the ledger broke', ...again],
    'not-json': [title, 'was damaged', ...again],
  } satisfies Partial<Record<ScenarioName, string[]>>;
}

const expected: Record<Operation, Partial<Record<ScenarioName | '', string[]>>> = {
  'GL codes': {
    ...outcomes('list the codes', 'this is the complete list', 'No codes were loaded.'),
    'http-500': [
      'The ledger reported a fault of its own.',
      'No codes were loaded.',
      'The service failed.',
    ],
  },
  Approvers: {
    '': ['The approvers were saved.'],
    ...outcomes('save the approvers', 'the approvers were saved', 'Nothing was saved.'),
    ...unknown('the approvers were saved'),
  },
  'CSV upload': {
    '': ['The file was processed.'],
    ...outcomes('process the file', 'the file was processed', 'The file was not processed.'),
    ...unknown('the file was processed'),
  },
  'Workflow actions': {
    '': ['The workflow was restarted.'],
    ...outcomes(
      'restart the workflow',
      'the workflow was restarted',
      'The workflow was not restarted.',
    ),
    ...unknown('the workflow was restarted'),
  },
};

const isFocused = (element: Element) => element === document.activeElement;

test.each(operations)('%s: the page tells every outcome in words', async (operation) => {
  const scenarios = Object.entries(expected[operation]) as [ScenarioName | '', string[]][];
  for (const [scenario, texts] of scenarios) {
    const before = stack.arrivals.length;

    const told = await user.run(operation, scenario);

    for (const text of texts)
      expect([scenario, told]).toEqual([scenario, expect.stringContaining(text)]);
    // A write reaches the service once, except that a token which the service rejected is renewed.
    if (operation !== 'GL codes') {
      expect([scenario, stack.arrivals.length - before]).toEqual([
        scenario,
        scenario === 'http-401' ? 2 : 1,
      ]);
    }
    expect(await outcomeOf(stack.page).getByRole('heading').evaluate(isFocused)).toBe(true);
  }
});

test.each([
  ['Restart the workflow', 'The workflow was restarted.', '/restartWorkflow2'],
  [
    'Restart the workflow and move to the next',
    'The workflow was restarted and moved to the next.',
    '/restartWorkflowAndMoveToNext',
  ],
  ['Restore the solution', 'The solution was restored.', '/reStoreSolution'],
  ['Restore the global solution', 'The global solution was restored.', '/reStoreGlobalSolution'],
  ['Update the solution guide', 'The solution guide was updated.', '/updateSolutionGuide'],
  ['Upgrade to HQ', 'The account was upgraded to HQ.', '/upgradeToHQ'],
])('%s: the page runs the action', async (label, told, path) => {
  const { page, arrivals, visit } = stack;
  await visit('Workflow actions');
  await page.getByLabel(label, { exact: true }).check();
  await page.getByRole('button', { name: 'Run…' }).click();
  await page.getByRole('heading', { name: `${label}?` }).waitFor();
  await user.send('Workflow actions');

  await outcomeOf(page).getByText(told).waitFor();
  // Only the ledger knows what it was about.
  await outcomeOf(page)
    .getByText(/The ledger names invoice \d+\./)
    .waitFor();
  expect(arrivals.at(-1)).toBe(path);
});

test('the page does not offer to ask again where that can change nothing', async () => {
  for (const scenario of ['reset', 'http-500', 'failed'] as const) {
    await user.run('Approvers', scenario);
    expect(await stack.page.getByRole('button', { name: 'Ask again' }).isVisible()).toBe(false);
  }
});

test('the page reports no errors in its console', () => {
  // The browser itself reports the responses with status 401.
  expect(stack.errors.filter((error) => !error.includes('401'))).toEqual([]);
});
