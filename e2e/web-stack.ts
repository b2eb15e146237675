import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type ScenarioName, startReferenceService } from '../dev/service.ts';
import { serveWebBuild } from '../dev/web-build.ts';
import { agedStore } from '../testkit/aged-store.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { testIssuer } from '../testkit/issuer.ts';
import { openPage } from './browser.ts';
import { writeWebApp } from './build.ts';
import { startFaultyProxy } from './faulty-proxy.ts';
import { startProxy } from './stack.ts';

/** What happens to requests: a scenario of the service, or that responses to writes are lost before the page. */
export type Practice = ScenarioName | 'lost-responses' | '';

export type WebStack = Awaited<ReturnType<typeof startWebStack>>;

/** Starts everything that the example web app needs. A `stub` is in the place of the reference service. */
export async function startWebServers(
  variables: Record<string, string> = {},
  stub?: { readonly url: string },
) {
  const issuer = await testIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks });
  closeAfterTest(() => service.close());
  const arrivals: string[] = [];
  const counted = await startProxy((stub ?? service).url, (url) => arrivals.push(url));
  const dist = await mkdtemp(join(tmpdir(), 'ledger-web-'));
  closeAfterTest(() => rm(dist, { recursive: true }));
  const server = await serveWebBuild(dist, '127.0.0.1', 0);
  closeAfterTest(() => server.close());
  const app = server.url;
  const gateway = await startTestGateway(
    { url: counted },
    {
      CORS_ORIGINS: app,
      LOG_LEVEL: 'warn',
      IDEMPOTENCY_STORE: await agedStore(),
      ...variables,
    },
  );
  const proxy = await startFaultyProxy(gateway.url);
  writeWebApp(dist, proxy, issuer);
  /** `arrivals` are the requests that the service received, in order. */
  return { app, proxy, service, arrivals };
}

/** Opens the example web app in Chromium. */
export async function startWebStack(...options: Parameters<typeof startWebServers>) {
  const servers = await startWebServers(...options);
  const { page, errors } = await openPage({ width: 900, height: 1000 });
  await page.clock.install();
  await page.goto(servers.app);

  return {
    ...servers,
    page,
    /** The errors and warnings in the console of the page. */
    errors,
    /** Makes the service respond as a scenario requires. */
    practise: (scenario: Practice) => page.getByLabel('Practice').selectOption(scenario),
    /** Loads the page anew, without anything from before. */
    async restart() {
      await page.evaluate(() => sessionStorage.clear());
      await page.reload();
    },
    /** Opens a page of the app by its link. */
    async visit(name: string) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
    },
  };
}

/** The heading of the notice that tells an outcome. */
export const outcomeOf = (page: Page) =>
  page.locator('main > section:not([hidden])').getByRole('region', { name: 'Outcome' });
