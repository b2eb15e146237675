import { parseArgs } from 'node:util';
import { type Config, readConfig, settingsOf } from './config/config.ts';
import { ConfigError } from './errors/gateway-error.ts';
import { ledger } from './resolvers/ledger.ts';
import { version } from './version.ts';

const help = `Usage: node src/main.ts [option]

Starts the gateway. Environment variables configure it: docs/reference/configuration.md lists them.

  --check-config  print the effective settings without secrets, and do not start;
                  exits with 1 and the problems if they are invalid
  --connect       with --check-config: also reach the service, the keys of the issuers,
                  the store, the audit file and the ports; all of them stay as they are
  --version       print the version
  --help          print this text
`;

/**
 * Reads the options and the environment. Resolves to the configuration, or, for an option, to the text to print instead of
 * starting the gateway. Throws a ConfigError for an invalid option or variable, or if something cannot be reached.
 */
export async function readCommand(
  args: string[],
  variables: Record<string, string | undefined>,
): Promise<{ text: string } | { config: Config }> {
  const options = parse(args);
  if (options.help) return { text: help };
  if (options.version) return { text: `${version}\n` };
  const config = readConfig(variables, ledger.operations);
  if (!options['check-config']) return { config };
  const connections = options.connect ? await reachAll(config) : { connections: 'not checked' };
  const shown = { ...settingsOf(config), warnings: config.warnings, ...connections };
  return { text: `${JSON.stringify(shown, undefined, 2)}\n` };
}

/** What is printed if everything can be reached. */
async function reachAll(config: Config): Promise<{ connections: string; hints?: string[] }> {
  const { checkConnections } = await import('./connect/connection-check.ts');
  const { faults, hints } = await checkConnections(config, ledger.probe);
  const reached = { connections: 'all reached' };
  if (faults.length === 0) return hints.length > 0 ? { ...reached, hints } : reached;
  throw new ConfigError(['The configuration does not work here:', ...faults].join('\n  '));
}

function parse(args: string[]) {
  const type = 'boolean';
  const options = {
    'check-config': { type },
    connect: { type },
    help: { type },
    version: { type },
  } as const;
  try {
    const { values } = parseArgs({ args, options });
    if (values.connect && !values['check-config'])
      throw new Error('--connect needs --check-config');
    return values;
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : error}\n${help}`);
  }
}
