import { readFileSync } from 'node:fs';
import { createTestGateway, type Situation } from '@ledger-gateway/client/testing';
import { createElement } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { mount, unmount } from 'svelte';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createApp } from 'vue';
import Page from './page';
import SvelteButton from './RestartButton.svelte';
import VueButton from './RestartButton.vue';

/* The tutorial builds the same button in each framework, so all of them pass the same tests. */

/** Shows a button, and returns what removes it. */
type Show = () => Promise<() => unknown>;

/** A page runs its script once. */
let pages = 0;

const shows: Record<string, Show> = {
  // The page of Next.js shows the button of React.
  async React() {
    const root = createRoot(document.body.appendChild(document.createElement('div')));
    // Returns when the component has subscribed to its write.
    flushSync(() => root.render(createElement(Page)));
    return () => root.unmount();
  },
  async Vue() {
    const app = createApp(VueButton);
    app.mount(document.body.appendChild(document.createElement('div')));
    return () => app.unmount();
  },
  async Svelte() {
    const component = mount(SvelteButton, { target: document.body });
    return () => unmount(component);
  },
  async JavaScript() {
    const page = readFileSync(`${import.meta.dirname}/javascript/index.html`, 'utf8');
    document.body.innerHTML = page.replaceAll(/<script[\s\S]*?<\/script>/g, '');
    pages += 1;
    await import(/* @vite-ignore */ `${import.meta.dirname}/javascript/main.js?page=${pages}`);
    return () => undefined;
  },
};

/** Long enough to see each state, and for a busy machine. */
const times = { attemptMs: 2_000, patienceMs: 100 };
const patient = { timeout: 20_000, interval: 1 };

describe.each(Object.entries(shows))('%s', (_name, show) => {
  let gateway: ReturnType<typeof createTestGateway>;
  let remove: () => unknown;

  beforeEach(async () => {
    const member = { __typename: 'WorkflowActionCompleted' };
    gateway = createTestGateway({ done: { workflowAction: member }, times });
    vi.stubGlobal('fetch', async (...[input, init]: Parameters<typeof fetch>) =>
      `${input}`.endsWith('/token') ? new Response('token') : gateway.fetch(input, init),
    );
    remove = await show();
    await shown('The button is ready.', 'Restart the workflow');
  });

  afterEach(async () => {
    await remove();
    document.body.replaceChildren();
  });

  const buttons = () => [...document.querySelectorAll('button')].filter(({ hidden }) => !hidden);

  /** Waits until the page shows this text, and these buttons. A locked one is in parentheses. */
  async function shown(text: string, ...names: string[]): Promise<void> {
    await vi.waitFor(() => {
      expect(document.querySelector('[role=status]')?.textContent).toMatch(text);
      const labels = buttons().map(({ textContent, disabled }) => {
        const label = textContent.trim();
        return disabled ? `(${label})` : label;
      });
      expect(labels).toEqual(names);
    }, patient);
  }

  function click(name: string): void {
    buttons()
      .find(({ textContent }) => textContent.trim() === name)
      ?.click();
  }

  function restart(situation: Situation): void {
    gateway.situation = situation;
    click('Restart the workflow');
  }

  test('idle, sending, done', async () => {
    restart('done');
    await shown('The workflow was restarted.', 'Restart the workflow');
    expect(gateway.arrivals).toHaveLength(1);
  });

  test('refused', async () => {
    restart('refused');
    await shown('The ledger refused the restart: Not permitted.', 'Restart the workflow');
  });

  test('failed', async () => {
    restart('failed');
    await shown('The workflow was not restarted: UPSTREAM_BAD_REQUEST', 'Restart the workflow');
  });

  test('sending, then unknown, then asking, then done', async () => {
    restart('lost');
    await shown('The restart is being sent.', '(Restart the workflow)', 'Cancel');
    await shown('It is not known yet', '(Restart the workflow)', 'Ask again');
    click('Ask again');
    await shown('We are asking what became of the restart.', '(Restart the workflow)');
    await shown('It is not known yet', '(Restart the workflow)', 'Ask again');
    gateway.situation = 'done';
    click('Ask again');
    await shown('The workflow was restarted.', 'Restart the workflow');
  });

  test('"Cancel" asks what became of the write', async () => {
    restart('lost');
    await shown('The restart is being sent.', '(Restart the workflow)', 'Cancel');
    await vi.waitFor(() => expect(gateway.arrivals).not.toEqual([]), patient);
    gateway.situation = 'settled';
    click('Cancel');
    await shown('The workflow was not restarted: IDEMPOTENCY_KEY_SETTLED', 'Restart the workflow');
  });

  test('unknown, until the user has checked', async () => {
    restart('unknown');
    await shown(
      'The workflow may have been restarted.',
      '(Restart the workflow)',
      'I have checked',
    );
    click('I have checked');
    await shown('The button is ready.', 'Restart the workflow');
  });
});
