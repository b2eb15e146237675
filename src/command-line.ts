import { parseArgs } from 'node:util';
import { type Config, readConfig, settingsOf } from './config/config.ts';
import { ConfigError } from './errors/gateway-error.ts';
import { ledger } from './resolvers/ledger.ts';
import { version } from './version.ts';

const help = `Usage: node src/main.ts [option]

Starts the gateway. Environment variables configure it: docs/reference/configuration.md lists them.

  --check-config  print the effective settings without secrets, and do not start;
                  exits with 1 and the problems if they are invalid
  --version       print the version
  --help          print this text
`;

/**
 * Reads the options and the environment. Returns the configuration, or, for an option, the text to print instead of starting
 * the gateway. Throws a ConfigError for an invalid option or variable.
 */
export function readCommand(
  args: string[],
  variables: Record<string, string | undefined>,
): { text: string } | { config: Config } {
  const options = parse(args);
  if (options.help) return { text: help };
  if (options.version) return { text: `${version}\n` };
  const config = readConfig(variables, ledger.operations);
  if (!options['check-config']) return { config };
  return { text: `${JSON.stringify(settingsOf(config), undefined, 2)}\n` };
}

function parse(args: string[]) {
  const type = 'boolean';
  const options = { 'check-config': { type }, help: { type }, version: { type } } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : error}\n${help}`);
  }
}
