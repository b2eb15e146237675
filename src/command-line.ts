import { parseArgs } from 'node:util';
import { readConfig, settingsOf } from './config/config.ts';
import { ConfigError } from './errors/gateway-error.ts';
import { version } from './version.ts';

const help = `Usage: node src/main.ts [option]

Starts the gateway. Environment variables configure it: docs/reference/configuration.md lists them.

  --check-config  print the effective settings without secrets, and do not start;
                  exits with 1 and the problems if they are invalid
  --version       print the version
  --help          print this text
`;

/**
 * The text to print instead of starting the gateway. Undefined without an option. Throws a ConfigError for an invalid option,
 * and with `--check-config`, for an invalid variable.
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
