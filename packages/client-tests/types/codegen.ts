import type { CodegenConfig } from '@graphql-codegen/cli';

/** The options of graphql-codegen's client preset that apps use most. Each is a folder of `generated`. */
const variants: Record<string, Pick<CodegenConfig, 'config'> & { presetConfig?: object }> = {
  plain: {},
  masked: { presetConfig: { fragmentMasking: { unmaskFunctionName: 'getFragmentData' } } },
  'non-optional-typename': { config: { nonOptionalTypename: true } },
  'avoid-optionals': { config: { avoidOptionals: true } },
  'enums-as-types': { config: { enumsAsTypes: true, useTypeImports: true } },
  'strict-scalars': {
    config: { strictScalars: true, scalars: { ID: 'string', WorkflowCsvOption: 'number' } },
  },
  immutable: { config: { immutableTypes: true, skipTypename: true } },
};

const config: CodegenConfig = {
  overwrite: true,
  schema: '../../schema.client.graphql',
  documents: ['types/*.graphql'],
  generates: Object.fromEntries(
    Object.entries(variants).map(([name, { config, presetConfig }]) => [
      `types/generated/${name}/`,
      {
        preset: 'client',
        presetConfig: { fragmentMasking: false, ...presetConfig },
        config: { importExtension: '.ts', emitLegacyCommonJSImports: false, ...config },
      },
    ]),
  ),
};

export default config;
