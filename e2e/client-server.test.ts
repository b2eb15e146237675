import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../testkit/temporary-folder.ts';

const run = promisify(execFile);
const client = fileURLToPath(new URL('../packages/client', import.meta.url));

/** Renders a button on the server, and one in StrictMode that is clicked twice and then unmounted. */
const page = `
import { createLedgerFetch } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { act, createElement, StrictMode, version } from 'react';
import { renderToString } from 'react-dom/server';
import { create } from 'react-test-renderer';

let sent = 0;
const fetch = async (url, { body }) => {
  // The question whether keys arrive comes first.
  if (!body.includes('settleWrites')) sent += 1;
  return Response.json({ data: { save: { __typename: 'ApproversSaved' } } });
};
const ledger = { url: 'http://localhost/graphql', token: () => 'token', fetch };
const ledgerFetch = createLedgerFetch(ledger);
const body = JSON.stringify({ query: 'mutation { save { __typename } }' });
let ended;
const end = new Promise((resolve) => { ended = resolve; });
function Button() {
  const { state, submit } = useWrite({
    ...ledger,
    field: 'save',
    send: async (headers) => (await ledgerFetch(ledger.url, { method: 'POST', headers, body })).json(),
  });
  if (state.phase === 'done') ended();
  return createElement('button', { onClick: () => submit() }, state.phase);
}
const server = renderToString(createElement(Button));
const button = createElement(StrictMode, null, createElement(Button));
let root;
globalThis.IS_REACT_ACT_ENVIRONMENT = true;
await act(async () => { root = create(button, { unstable_isConcurrent: true }); });
globalThis.IS_REACT_ACT_ENVIRONMENT = false;
const { onClick } = root.root.findByType('button').props;
onClick();
onClick();
await end;
root.unmount();
console.log(JSON.stringify({ version, server, sent }));
process.exit();
`;

test.each(['18.3.1', '19.3.1'])(
  'React %s: a server renders an idle button, and two clicks send once',
  async (react) => {
    const cwd = await temporaryFolder();
    const pack = await run('npm', [
      ...['pack', '--silent', '--ignore-scripts', '--pack-destination', cwd],
      client,
    ]);
    const packages = ['react', 'react-dom', 'react-test-renderer'].map(
      (name) => `${name}@${react}`,
    );
    await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
    await writeFile(join(cwd, 'page.js'), page);
    const tarball = `./${pack.stdout.trim().split('\n').at(-1)}`;
    await run('npm', ['install', '--no-audit', '--no-fund', tarball, ...packages], { cwd });
    const { stdout } = await run(process.execPath, ['page.js'], { cwd });
    expect(JSON.parse(stdout)).toEqual({
      version: react,
      server: '<button>idle</button>',
      sent: 1,
    });
  },
  300_000,
);
