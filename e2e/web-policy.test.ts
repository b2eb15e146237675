import { expect, test } from '@jest/globals';
import { temporaryFile } from '../testkit/temporary-folder.ts';
import { startWebStack } from './web-stack.ts';
import { createUser } from './web-user.ts';

test('a stopped operation is shown as not done, with its reason; a limited one with the advice to wait', async () => {
  const stopped = 'Month-end closing until 18:00.';
  const policy = {
    operations: { saveApprovers: { stopped }, workflowAction: { writesPerMinute: 1 } },
  };
  const file = await temporaryFile(JSON.stringify(policy));
  const stack = await startWebStack({ POLICY_FILE: file });
  const user = createUser(stack);

  const told = await user.run('Approvers', '');
  expect(told).toContain('Nothing was saved.');
  expect(told).toContain(stopped);
  // The form is kept, and the button is not locked.
  const { page } = stack;
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada Example');
  expect(await page.getByRole('button', { name: 'Save approvers' }).isEnabled()).toBe(true);
  expect(stack.arrivals).toEqual([]);

  await user.run('Workflow actions', '');
  expect(await user.run('Workflow actions', '')).toContain('too often in a short time');
  expect(stack.arrivals).toEqual(['/restartWorkflow2']);
});
