import { parseArgs } from 'node:util';
import { readConfig, settingsOf } from './config/config.ts';
import { ConfigError } from './errors/gateway-error.ts';
import { version } from './version.ts';

const help = `Usage: node src/main.ts [option]

Starts the gateway. Environment variables configure it: docs/configuration.md lists them.

  --check-config  print the effective settings without secrets, and do not start;
                  exits with 1 and the problems if they are invalid
  --version       print the version
  --help          print this text
`;

/**
 * What to print instead of starting the gateway; undefined without an option. Throws a ConfigError if an option or,
 * with `--check-config`, a variable is invalid.
 */
export function textForOption(
  args: string[],
  variables: Record<string, string | undefined>,
): string | undefined {
  const values = parse(args);
  if (values.help) return help;
  if (values.version) return `${version}\n`;
  if (!values['check-config']) return undefined;
  return `${JSON.stringify(settingsOf(readConfig(variables)), undefined, 2)}\n`;
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
