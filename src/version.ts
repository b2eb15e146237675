import packageJson from '../package.json' with { type: 'json' };

/** The version of the gateway, from package.json. */
export const { version } = packageJson;
